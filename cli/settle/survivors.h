/* SPDX-License-Identifier: MIT
 *
 * What a program that has ended left running.
 */
#ifndef CLI_SURVIVORS_H
#define CLI_SURVIVORS_H

#include <sys/types.h>

#include "cli/settle/run_result.h"

/* A process that the program forked, that still runs, and that has no record; 0: none is seen. The reporter
 * has the records, and is none. */
pid_t survivors_find(const struct run_result *r, pid_t reporter);

#endif
