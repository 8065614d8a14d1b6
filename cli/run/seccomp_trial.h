/* SPDX-License-Identifier: MIT
 *
 * Seccomp filters that the runner has come to life with: its program inherits them. Ordinary code.
 */
#ifndef CLI_SECCOMP_TRIAL_H
#define CLI_SECCOMP_TRIAL_H

#include <stdbool.h>

/* A call that a runner makes, for which one of them ends a process; NULL: none. `alone`: of those before a
 * program that takes our place. */
const char *seccomp_deadly_call(bool exec_mode);

/* How many there are, when none of them ends a process for what a monitor does; -1: one does, or nobody
 * knows. */
int seccomp_trial_filters(void);

#endif
