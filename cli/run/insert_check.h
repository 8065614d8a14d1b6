/* SPDX-License-Identifier: MIT
 *
 * Checks whether macOS inserts a library into a program. It decides before the start, because the system says
 * nothing when it drops the variable. Main thread; reads files only.
 */
#ifndef CLI_INSERT_CHECK_H
#define CLI_INSERT_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/base/error.h"

/* `path`: the program's file, as execvp finds it. `cpu`: of the machine, HD_MACHO_CPU_*. False, and why: the
 * system does not insert the library, or ends the program. True also for a file that is missing or
 * unreadable: the run will show the error. */
bool insert_is_possible(const char *path, uint32_t cpu, struct problem *why);

#endif
