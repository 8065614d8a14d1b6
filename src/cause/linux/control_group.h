/* SPDX-License-Identifier: MIT
 *
 * Reads files of the process's control group, of version 1 or 2. Runs on the worker thread; allocates
 * nothing.
 *
 * The caller opens a file once and keeps the descriptor, so that the file stays readable after the program
 * has changed its root folder.
 */
#ifndef HD_CONTROL_GROUP_H
#define HD_CONTROL_GROUP_H

#include "base/types.h"

/* Opens `file`, such as "/cpu.stat", of the process's control group below folder `mount`. `groups`: the text
 * of /proc/self/cgroup. `line`: the text before the group's path in `groups`, such as "0::" or ":cpu:".
 * Returns a descriptor; negative: there is no such file. */
int hd_control_group_open(const char *groups, const char *line, const char *mount, const char *file);

/* Reads a control group's file from its descriptor `fd`. Returns the number after `key` in the line that
 * starts with `key`; if `key` is empty, the number at the start of the file. 0: the file has no such number,
 * or cannot be read. */
uint64_t hd_control_group_number(int fd, const char *key);

#endif
