/* SPDX-License-Identifier: MIT
 *
 * Worker: files of the process's control group, of either version. Opened once: where the program changes its
 * root they stay readable. No allocation.
 */
#ifndef HD_CONTROL_GROUP_H
#define HD_CONTROL_GROUP_H

#include "base/types.h"

/* Opens `file` ("/cpu.stat") of the group that `groups`, the text of /proc/self/cgroup, has behind `line`
 * ("0::", ":cpu:"), below `mount`. Negative: there is none. */
int hd_control_group_open(const char *groups, const char *line, const char *mount, const char *file);

/* The number behind `key` at the start of a line, with `key` empty that of the whole file; 0: there is none.
 */
uint64_t hd_control_group_number(int fd, const char *key);

#endif
