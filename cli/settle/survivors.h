/* SPDX-License-Identifier: MIT
 *
 * What a program that has ended left running. Ordinary code.
 */
#ifndef HD_LEFT_BEHIND_H
#define HD_LEFT_BEHIND_H

#include <sys/types.h>

#include "cli/settle/run_result.h"

/* A process that the program forked, that went on when it ended, and that has no record; 0: none is seen. */
pid_t left_behind(const struct run_result *r);

#endif
