/* SPDX-License-Identifier: MIT
 *
 * Reads one line of the `status` file of a process or thread. Any thread; no allocation, no lock.
 */
#ifndef HD_PROC_STATUS_H
#define HD_PROC_STATUS_H

#include "base/types.h"

/* Stores in `value` the text after `key` ("VmRSS:"), without leading blanks, truncated to `size`, with a NUL
 * at the end. Returns 1 if a line starts with `key`, 0 if none does, or a negative errno value. Reads the
 * file in pieces, since the line of supplementary groups can be long. */
int hd_proc_status_value(int dir, const char *path, const char *key, char *value, size_t size);

/* Returns the last number of the line that starts with `key`; `base` is 10 or 16. 0: no number or no line. */
uint64_t hd_proc_status_number(int dir, const char *path, const char *key, unsigned base);

#endif
