/* SPDX-License-Identifier: MIT
 *
 * Files of the process's control group, of version 1 or 2. Worker; no allocation.
 *
 * A file is opened once, so that it stays readable where the program changes its root.
 */
#ifndef HD_CONTROL_GROUP_H
#define HD_CONTROL_GROUP_H

#include "base/types.h"

/* Opens `file` ("/cpu.stat") of the group below `mount`. `groups`: the text of /proc/self/cgroup. `line`:
 * what precedes the group's path there ("0::", ":cpu:"). Negative: there is no such file. */
int hd_control_group_open(const char *groups, const char *line, const char *mount, const char *file);

/* The number after `key` at the start of a line; with an empty key, the number at the start of the file. 0:
 * none. */
uint64_t hd_control_group_number(int fd, const char *key);

#endif
