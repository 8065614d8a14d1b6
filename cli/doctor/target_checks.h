/* SPDX-License-Identifier: MIT
 *
 * Whether a program can be watched, and what of a running process can be read.
 */
#ifndef CLI_DOCTOR_TARGET_CHECKS_H
#define CLI_DOCTOR_TARGET_CHECKS_H

#include <sys/types.h>

#include "cli/doctor/checks.h"

/* A program and its arguments, as `hangdog run` would start them. Nothing is started. */
void target_checks_program(struct checks *c, char *const *words);
void target_checks_process(struct checks *c, pid_t pid);

#endif
