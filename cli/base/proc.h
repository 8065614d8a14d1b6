/* SPDX-License-Identifier: MIT
 *
 * What /proc says of a process; 0 is our own, whatever its number there. Ordinary code.
 */
#ifndef CLI_PROC_OF_H
#define CLI_PROC_OF_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PROC_STATE 3 /* fields of its stat, as proc(5) numbers them */
#define PROC_STARTED 22
#define PROC_STAT_BYTES 1024

/* What is mounted there may be of another namespace of processes, where our numbers are others'. */
bool proc_is_ours(void);

/* The last number in the line of its status that begins with `key`: behind "NSpid:" that by which it knows
 * itself. 0: there is none. */
uint64_t proc_number(pid_t pid, const char *key, int base);

/* A field of its stat and what follows, in `text`; NULL: it is gone. */
const char *proc_field(pid_t pid, unsigned number, char text[PROC_STAT_BYTES]);

#endif
