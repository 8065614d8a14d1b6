/* SPDX-License-Identifier: MIT
 *
 * Tries the seccomp filters that the runner inherited, and that the program will inherit. Main thread; forks
 * children.
 */
#ifndef CLI_SECCOMP_TRIAL_H
#define CLI_SECCOMP_TRIAL_H

#include <stdbool.h>

/* The name of a system call of the runner for which a filter kills; NULL: none. `exec_mode`: checks only the
 * calls before the exec of the program. */
const char *seccomp_deadly_call(bool exec_mode);

/* The number of filters, if none of them kills for a call of a monitor; -1: one does, or not known. */
int seccomp_trial_filters(void);

#endif
