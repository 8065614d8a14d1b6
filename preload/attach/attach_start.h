/* SPDX-License-Identifier: MIT
 *
 * Starts a watch: makes the settings, starts the monitor and the worker, and adds the main thread to the
 * watched threads.
 */
#ifndef HD_ATTACH_START_H
#define HD_ATTACH_START_H

#include "preload/waits/wait_table.h"

/* Starts the watch of the main thread; `t` is its wait table. The main thread calls this in phase
 * STARTING. The main thread's current turn began at `start_ns`. The phase becomes WATCHED. If the start
 * fails, the phase becomes NEVER, and the record gets the reason. May allocate, and may change errno. */
void hd_attach_start(struct hd_wait_table *t, uint64_t start_ns);

#endif
