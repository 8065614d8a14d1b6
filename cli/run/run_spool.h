/* SPDX-License-Identifier: MIT
 *
 * The folder for the reports of a run: the user's spool, or a spare folder if the spool cannot be written.
 * Main thread.
 */
#ifndef CLI_RUN_SPOOL_H
#define CLI_RUN_SPOOL_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/base/error.h"
#include "cli/run/run_options.h"

/* The absolute path of the spool. False, and why. */
bool run_spool_path(const struct run_options *o, char *path, size_t size, struct problem *why);

/* Opens it and writes a file on trial, before the program starts: a spool that cannot be written would lose
 * each report. 0, or a negative errno value and why. */
int run_spool_check(const char *path, struct problem *why);

/* Makes a folder that only this run uses. */
bool run_spool_make_spare(char *path, size_t size);
void run_spool_remove_spare(const char *path);

#endif
