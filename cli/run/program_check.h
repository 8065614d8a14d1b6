/* SPDX-License-Identifier: MIT
 *
 * The file that a program's name stands for, and whether its process can be watched. Ordinary code.
 */
#ifndef CLI_PROGRAM_CHECK_H
#define CLI_PROGRAM_CHECK_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli/base/error.h"

/* Where execvp will find the program; false: nowhere. */
bool program_find(const char *program, char *path, size_t size);

/* The ELF file that the kernel will execute: the program's, or that of its script's interpreter; false: none.
 */
bool program_executed(const char *program, char path[PATH_MAX]);

/* False, and why, when it is certain that our library would not be loaded by this program, or would see
 * nothing of it: it is static, of Go, of another architecture or C library, or gets privileges. True when
 * nothing speaks against it, also for what cannot be read or does not exist: running it will tell. */
bool program_can_be_watched(const char *program, struct problem *why);

/* The program that a command's words run: the first one, or what the loader is told to run by it. */
const char *program_named(char *const *words);

/* True, and which, when the program is there and what is to run it is not: a script's interpreter, or the
 * loader. The kernel says of both that there is no such file. */
bool program_lacks(const char *program, struct problem *what);

/* The file begins as a program or a script does: it may only lack the right to be run. */
bool program_begins_as_one(const char *path);

#endif
