/* SPDX-License-Identifier: MIT
 *
 * The file that a program's name stands for, and whether its process can be watched. Ordinary code.
 */
#ifndef CLI_PROGRAM_FILE_H
#define CLI_PROGRAM_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/commands.h"

/* Where execvp will find the program; false: nowhere. */
bool program_find(const char *program, char *path, size_t size);

/* False, and why, when it is certain that the loader of this program will not load our library: it is static,
 * of another architecture or C library, or gets privileges. True when nothing speaks against it, also for
 * what cannot be read or does not exist: running it will tell. */
bool program_loads_libraries(const char *program, struct problem *why);

#endif
