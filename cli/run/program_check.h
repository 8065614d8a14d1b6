/* SPDX-License-Identifier: MIT
 *
 * Checks whether a program can be watched. Main thread; reads files only.
 */
#ifndef CLI_PROGRAM_CHECK_H
#define CLI_PROGRAM_CHECK_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli/base/error.h"

/* The ELF file that the kernel will execute: the program, or the interpreter of a script. False: no such
 * file. */
bool program_executed(const char *program, char path[PATH_MAX]);

/* False, and why: the program certainly does not load the preload, or shows nothing to it. Examples: a static
 * program, one of Go, one of another architecture or C library, one that gains privileges. True also for a
 * file that is missing or unreadable: the run will show the error. */
bool program_can_be_watched(const char *program, struct problem *why);

/* The command in `why` where only a watch from outside is possible. PID stands for the process. */
#define PROGRAM_ATTACH "hangdog attach PID"

/* The program that a command line runs: the first word, or the program that a loader gets as an argument. */
const char *program_named(char *const *words);

/* True, and which: the program exists, but its script interpreter or its loader does not. The kernel's error
 * is "no such file" for both. */
bool program_lacks(const char *program, struct problem *what);

/* True: the file has the format of a program or a script, and may lack only the permission to execute. */
bool program_begins_as_one(const char *path);

#endif
