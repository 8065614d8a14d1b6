/* SPDX-License-Identifier: MIT
 *
 * Finds a process that a program left running when the program ended, such as a daemon. The search runs on
 * the runner's main thread, which may sleep for 0.2 s.
 */
#ifndef CLI_SURVIVORS_H
#define CLI_SURVIVORS_H

#include <sys/types.h>

#include "cli/settle/run_result.h"

/* Returns a process that the program forked, that still runs, and that has no record. 0: none found.
 * `reporter`: the reporter's process id. The reporter maps the records too, and does not count. */
pid_t survivors_find(const struct run_result *r, pid_t reporter);

#endif
