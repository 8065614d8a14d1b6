/* SPDX-License-Identifier: MIT
 * Keeps a process watched after an exec, by the two variables that make the next program load the preload.
 * Async-signal-safe; also runs in forked and vforked children.
 */
#ifndef HD_EXEC_H
#define HD_EXEC_H

#include <stdbool.h>
#include <stddef.h>

#include "preload/attach/exec_target.h"
#include "preload/interpose/exec_environment.h"

/* Called by the constructor: the text in LD_PRELOAD that loads the preload. */
void hd_exec_preload_was(const char *begin, size_t length);

/* That text, for a child that will exec the program at `path`; NULL: the program would not load the preload.
 * `first`: the library that must precede the preload; empty: none. */
const char *hd_exec_preload_for(const char *path, char first[HD_EXEC_NAME_BYTES]);

/* The address of a variable in `env`, and its value; NULL: not set. */
char **hd_exec_find(char *const *env, const char *name_and_equals);
const char *hd_exec_variable(char *const *env, const char *name_and_equals);

/* Looks up the real functions; see real.h. */
void hd_exec_resolve(void);

/* glibc has it since 2.34. */
int execveat(int dir, const char *path, char *const argv[], char *const env[], int flags);

#endif
