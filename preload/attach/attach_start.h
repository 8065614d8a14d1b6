/* SPDX-License-Identifier: MIT
 *
 * The start of a watch: settings, the monitor and the worker, the main thread's alternate signal stack.
 */
#ifndef HD_ATTACH_START_H
#define HD_ATTACH_START_H

#include "preload/waits/wait_table.h"

/* Starts the watch of the main thread, which calls this in phase STARTING and stores its waits in `t`. The
 * current turn began at `start_ns`. The phase becomes WATCHED, or NEVER with the reason in the record. May
 * allocate and changes errno. */
void hd_attach_start(struct hd_wait_table *t, uint64_t start_ns);

#endif
