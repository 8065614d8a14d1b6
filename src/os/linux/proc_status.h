/* SPDX-License-Identifier: MIT
 *
 * One line of the `status` file of a process or thread. Any thread; no allocation, no lock.
 */
#ifndef HD_PROC_STATUS_H
#define HD_PROC_STATUS_H

#include "base/types.h"

/* Stores the text after `key` ("VmRSS:") in `value`: without leading blanks, truncated to `size`, NUL at the
 * end. 1: found; 0: no such line; or a negative errno value. Reads in pieces, since the line of groups can be
 * long. */
int hd_proc_status_value(int dir, const char *path, const char *key, char *value, size_t size);

/* The last number of that line, in base 10 or 16; 0: no number or no line. */
uint64_t hd_proc_status_number(int dir, const char *path, const char *key, unsigned base);

#endif
