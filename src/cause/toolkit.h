/* SPDX-License-Identifier: MIT
 *
 * Worker: whether a running thread is in layout, drawing or text code of a known toolkit. No allocation.
 *
 * The library of the innermost function says so. Functions of libc and of the libraries below all toolkits
 * work for their caller; a callback is the program's again.
 */
#ifndef HD_TOOLKIT_H
#define HD_TOOLKIT_H

#include "cause/probe_context.h"

/* Fills out->evidence where the thread is in such code. */
void hd_toolkit_find(struct hd_modules *m, const struct hd_frame *frames, uint32_t count,
                     struct hd_probe *out);

/* By the file's name alone. */
bool hd_toolkit_is_one(const char *file);

#endif
