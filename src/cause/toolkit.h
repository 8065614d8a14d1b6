/* SPDX-License-Identifier: MIT
 *
 * Finds out whether a running thread executes layout, drawing or text code of a known GUI toolkit. Runs on
 * the worker thread; allocates nothing.
 *
 * The library of the innermost function decides whether the code is a toolkit's. Functions of libc and of
 * helper libraries such as GLib do not count, because they work for their caller. A callback counts as the
 * program's code, even if a toolkit's function called it.
 */
#ifndef HD_TOOLKIT_H
#define HD_TOOLKIT_H

#include "cause/probe_context.h"

/* Fills out->evidence if the stack shows code of a GUI toolkit; otherwise *out stays unchanged. */
void hd_toolkit_find(struct hd_modules *m, const struct hd_frame *frames, uint32_t count,
                     struct hd_probe *out);

/* True: the file name `file` is that of a toolkit's library. */
bool hd_toolkit_is_one(const char *file);

#endif
