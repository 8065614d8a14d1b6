/* SPDX-License-Identifier: MIT
 *
 * What /proc says of a process; 0 is our own, whatever its number there. Ordinary code.
 */
#ifndef CLI_PROC_H
#define CLI_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "os/linux/proc_stat.h"

/* What is mounted there may be of another namespace of processes, where our numbers are others'. */
bool proc_is_ours(void);

/* The last number in the line of its status that begins with `key`: behind "NSpid:" that by which it knows
 * itself. 0: there is none. */
uint64_t proc_number(pid_t pid, const char *key, unsigned base);

/* All zero: it is gone. */
struct hd_proc_stat proc_stat(pid_t pid);

#endif
