/* SPDX-License-Identifier: MIT
 *
 * The environment that an exec is given, with our two variables, and memory for it where the stack may have
 * too little. Async-signal-safe; errno is kept.
 */
#ifndef HD_EXEC_ENVIRONMENT_H
#define HD_EXEC_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

struct hd_exec_addition {
    const char *before, *preload; /* the name up to a colon that must come first, and what stands for us */
    const char *users;            /* LD_PRELOAD's value in the environment; NULL: it has none */
    const char *link;             /* the memory file */
    size_t variables;             /* of the environment */
};

size_t hd_exec_environment_bytes(const struct hd_exec_addition *a);
/* In a room of so many bytes. */
char **hd_exec_environment_fill(void *room, char *const *env, const struct hd_exec_addition *a);

/* NULL: there is no room. `in_child`: the caller may share its parent's memory, where the exec leaves the
 * room behind. The parent's thread has it for its next child then. */
void *hd_exec_room_take(size_t bytes, bool in_child);
/* The exec failed, or was a spawn. */
void hd_exec_room_give(void *room, size_t bytes, bool in_child);

#endif
