/* SPDX-License-Identifier: MIT
 *
 * Libraries that a program of the fleet needs, and the command does not: a small image may lack them.
 * Ordinary code.
 */
#ifndef CLI_FLEET_LIBRARIES_H
#define CLI_FLEET_LIBRARIES_H

#include <stdbool.h>

#include "cli/base/error.h"

/* True, and which, with the packages of Debian: the loader does not find them for the program `path`. The
 * loader is run for that, and the program is not. */
bool libraries_are_missing(const char *path, struct problem *why);

#endif
