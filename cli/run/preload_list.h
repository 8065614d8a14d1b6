/* SPDX-License-Identifier: MIT
 *
 * A sanitizer's runtime must be the first library of a process. Ordinary code.
 */
#ifndef CLI_PRELOAD_LIST_H
#define CLI_PRELOAD_LIST_H

#include <stddef.h>

/* LD_PRELOAD for `program` (a name as execvp takes it): the runtimes that our preload library or the program
 * needs, or that the user preloads, then `own`, then `users` (the user's own list, or NULL) as it is. Cut
 * short when it does not fit. */
void preload_list(char *list, size_t size, const char *own, const char *users, const char *program);

#endif
