/* SPDX-License-Identifier: MIT
 *
 * One line of a process's or thread's `status` file. Any thread; no allocation, no lock.
 */
#ifndef HD_PROC_STATUS_H
#define HD_PROC_STATUS_H

#include "base/types.h"

/* What follows `key` ("VmRSS:") in its line, without blanks before it, cut to `size`. 1; 0: there is no such
 * line; or a negative errno value. The file is read to that line: a line of groups before it may be long. */
int hd_proc_status_value(int dir, const char *path, const char *key, char *value, size_t size);

/* The last number of that line in base 10 or 16; 0: there is none. */
uint64_t hd_proc_status_number(int dir, const char *path, const char *key, unsigned base);

#endif
