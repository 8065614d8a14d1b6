/* SPDX-License-Identifier: MIT
 *
 * The file of a program, as execvp finds it.
 */
#ifndef CLI_PROGRAM_FIND_H
#define CLI_PROGRAM_FIND_H

#include <stdbool.h>
#include <stddef.h>

/* The path that execvp will use; false: no such program. A word with a slash is its own path, also where no
 * file has it. */
bool program_find(const char *program, char *path, size_t size);

/* A regular file that this process may execute. */
bool program_is_executable(const char *path);

#endif
