/* SPDX-License-Identifier: MIT
 *
 * Finds a running thread that is in layout, drawing or text code of a known toolkit. Worker; no allocation.
 *
 * The library of the innermost function decides. Functions of libc and of the libraries below all toolkits
 * work for their caller. A callback is the program's code.
 */
#ifndef HD_TOOLKIT_H
#define HD_TOOLKIT_H

#include "cause/probe_context.h"

/* Fills out->evidence where the thread is in such code. */
void hd_toolkit_find(struct hd_modules *m, const struct hd_frame *frames, uint32_t count,
                     struct hd_probe *out);

/* The file is a toolkit's, by its name. */
bool hd_toolkit_is_one(const char *file);

#endif
