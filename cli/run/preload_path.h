/* SPDX-License-Identifier: MIT
 *
 * Finds the preload library. Main thread.
 */
#ifndef CLI_PRELOAD_PATH_H
#define CLI_PRELOAD_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "cli/base/error.h"

#define PRELOAD_FILE "libhangdog-preload.so"

/* A path of the library that LD_PRELOAD can contain. False, and why. */
bool preload_path(char *path, size_t size, struct problem *why);

/* True: a process has the library in its memory map, so hangdog run watches it. */
bool preload_is_in(pid_t pid);

#endif
