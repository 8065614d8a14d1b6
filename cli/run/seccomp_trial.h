/* SPDX-License-Identifier: MIT
 *
 * Seccomp filters that the runner has come to life with: its program inherits them. Ordinary code.
 */
#ifndef CLI_FILTERS_H
#define CLI_FILTERS_H

#include <stdbool.h>

/* A call that a runner makes, for which one of them ends a process; NULL: none. `alone`: of those before a
 * program that takes our place. */
const char *filters_deadly_call(bool alone);

/* How many there are, when none of them ends a process for what a monitor does; -1: one does, or nobody
 * knows. */
int filters_tried(void);

#endif
