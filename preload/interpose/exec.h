/* SPDX-License-Identifier: MIT
 *
 * A watched process that becomes another program by exec is watched on. Async-signal-safe; also called in
 * children, and in those that share our memory until they exec.
 */
#ifndef HD_EXEC_H
#define HD_EXEC_H

#include <stdbool.h>
#include <stddef.h>

#include "preload/attach/exec_target.h"

/* The constructor's: what in LD_PRELOAD stands for us. */
void hd_exec_preload_was(const char *begin, size_t length);

/* The same, for a program at `path` that a child is to become; NULL: it would not load us. `first`: the name
 * of what must come before us then; empty: nothing. */
const char *hd_exec_preload_for(const char *path, char first[HD_EXEC_NAME_BYTES]);

#define HD_LINK_VARIABLE "HANGDOG_LINK=" /* where the memory file is */
#define HD_PRELOAD_VARIABLE "LD_PRELOAD="

/* Where a variable is, and its value; NULL: it is not there. */
char **hd_exec_find(char *const *env, const char *name_and_equals);
const char *hd_exec_variable(char *const *env, const char *name_and_equals);

void hd_exec_resolve(void);

#endif
