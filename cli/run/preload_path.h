/* SPDX-License-Identifier: MIT
 *
 * Where the library is that goes into the program. Ordinary code.
 */
#ifndef CLI_PRELOAD_PATH_H
#define CLI_PRELOAD_PATH_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/base/error.h"

#define PRELOAD_FILE "libhangdog-preload.so"

/* A path of it that LD_PRELOAD can hold. False, and why. */
bool preload_path(char *path, size_t size, struct problem *why);

#endif
