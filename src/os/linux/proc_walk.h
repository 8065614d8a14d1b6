/* SPDX-License-Identifier: MIT
 *
 * Visits the numbers among the names of a folder in /proc: processes, threads, or descriptors. Any thread; no
 * allocation, no lock.
 */
#ifndef HD_PROC_WALK_H
#define HD_PROC_WALK_H

#include "base/types.h"

/* Calls `visit` for each number. The walk ends once `visit` returns true, or once the calling thread's CPU
 * time is `until_cpu_ns`. The limit is in CPU time, because on a busy machine elapsed time does not show how
 * much work was done. Returns true if `visit` did. `dir`: a folder of /proc, to which `path` is relative. */
bool hd_proc_walk_numbers(int dir, const char *path, uint64_t until_cpu_ns,
                          bool (*visit)(void *arg, uint64_t number), void *arg);

#endif
