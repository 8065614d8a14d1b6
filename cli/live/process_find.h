/* SPDX-License-Identifier: MIT
 *
 * The process that a person means by a number or a name. Ordinary code.
 */
#ifndef CLI_LIVE_PROCESS_FIND_H
#define CLI_LIVE_PROCESS_FIND_H

#include "cli/live/process.h"

/* Its number. 0: none, or several, and why. */
int process_find(const char *text, const struct live_command *command, struct problem *why);

#endif
