/* SPDX-License-Identifier: MIT
 *
 * The value of LD_PRELOAD. A sanitizer's runtime must be the first library of a process. Main thread; reads
 * files.
 */
#ifndef CLI_PRELOAD_LIST_H
#define CLI_PRELOAD_LIST_H

#include <stddef.h>

/* Writes LD_PRELOAD for `program`, a name as for execvp. First come the sanitizer runtimes that the preload
 * or the program needs, or that the user preloads. Then `own`, then the user's list `users` unchanged (NULL:
 * none). Truncated if it does not fit. */
void preload_list(char *list, size_t size, const char *own, const char *users, const char *program);

#endif
