/* SPDX-License-Identifier: MIT
 * The environment for an exec, with our two variables, and memory for it where the stack may be too small.
 * Async-signal-safe; keeps errno.
 */
#ifndef HD_EXEC_ENVIRONMENT_H
#define HD_EXEC_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

#define HD_LINK_VARIABLE "HANGDOG_LINK=" /* path or descriptor of the file with the records */
#define HD_PRELOAD_VARIABLE "LD_PRELOAD="

struct hd_exec_addition {
    const char *before;  /* library that must come first, up to a colon; empty: none */
    const char *preload; /* text that loads the preload */
    const char *users;   /* the user's value of LD_PRELOAD; NULL: not set */
    const char *link;    /* value of HANGDOG_LINK */
    size_t variables;    /* number of variables in the environment */
};

/* The bytes that hd_exec_environment_fill writes to `memory`. The latter returns the environment, which uses
 * strings of `env`. */
size_t hd_exec_environment_bytes(const struct hd_exec_addition *a);
char **hd_exec_environment_fill(void *memory, char *const *env, const struct hd_exec_addition *a);

/* Memory for an environment; NULL: none. `in_child`: the caller may be a vforked child, whose successful exec
 * cannot free the memory. The parent's thread reuses that memory for its next child. */
void *hd_exec_memory_take(size_t bytes, bool in_child);
/* After a failed exec, or after a spawn. */
void hd_exec_memory_give(void *memory, size_t bytes, bool in_child);

#endif
