/* SPDX-License-Identifier: MIT
 *
 * Facts about a process from /proc. The process id 0 is the calling process. Any thread; no allocation.
 */
#ifndef CLI_PROC_H
#define CLI_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "os/linux/proc_stat.h"

/* False: /proc belongs to another PID namespace, where our process ids mean other processes. */
bool proc_is_ours(void);

/* The last number in the line of `status` that starts with `key`. For "NSpid:" the process's id in its own
 * PID namespace. 0: no such line. */
uint64_t proc_number(pid_t pid, const char *key, unsigned base);

/* All zero: no such process. */
struct hd_proc_stat proc_stat(pid_t pid);

/* The start of a process, CLOCK_REALTIME; 0: no such process. */
uint64_t proc_started_wall_ns(pid_t pid);

#endif
