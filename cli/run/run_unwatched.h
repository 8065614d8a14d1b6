/* SPDX-License-Identifier: MIT
 *
 * The ends of a run that does not watch: the program runs without us, or cannot run.
 */
#ifndef CLI_RUN_UNWATCHED_H
#define CLI_RUN_UNWATCHED_H

#include <stdbool.h>

#include "cli/base/error.h"
#include "cli/run/run_options.h"

/* Exit statuses, as of env and timeout. */
enum {
    EXIT_BEFORE_START = 125,
    EXIT_NOT_RUN = 126,
    EXIT_NOT_FOUND = 127
};

/* Becomes the program: nothing of us is in its way. Returns the exit status where that failed. */
int run_unwatched(const struct run_options *o, const struct problem *why);

/* The same for want of what a negative errno value says. */
int run_unwatched_for(const struct run_options *o, int rc);

/* Prints that the program could not be run. Returns the exit status. */
int run_not_started(const struct run_options *o, int rc);

#endif
