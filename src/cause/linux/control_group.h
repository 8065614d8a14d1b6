/* SPDX-License-Identifier: MIT
 *
 * Reads files of the process's control group, of version 1 or 2. On the worker thread; no allocation.
 *
 * The caller opens a file once and keeps the descriptor: the file stays readable after the program has
 * changed its root folder.
 */
#ifndef HD_CONTROL_GROUP_H
#define HD_CONTROL_GROUP_H

#include "base/types.h"

/* Opens `file` ("/cpu.stat") of the group below `mount`. `groups`: the text of /proc/self/cgroup. `line`: the
 * text before the group's path in `groups` ("0::", ":cpu:"). Returns a descriptor; negative: there is no such
 * file. */
int hd_control_group_open(const char *groups, const char *line, const char *mount, const char *file);

/* Returns the number after `key`, which is at the start of a line. With an empty key, returns the number
 * at the start of the file. 0: no such number. */
uint64_t hd_control_group_number(int fd, const char *key);

#endif
