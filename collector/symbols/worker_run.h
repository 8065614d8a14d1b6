/* SPDX-License-Identifier: MIT
 *
 * One report goes to a worker, hangdog-name, and comes back with names. The worker is a process of its own:
 * what a hostile debug file does to it is not done to the collector.
 */
#ifndef COLLECTOR_WORKER_RUN_H
#define COLLECTOR_WORKER_RUN_H

#include <stddef.h>

#define WORKER_SECONDS 30

/* The named report; the caller frees it. NULL: the worker failed with the file `build`, and why. `folder` has
 * the debug files. */
char *worker_run(const char *folder, const char *build, const char *report, size_t bytes, size_t *named_bytes,
                 char why[128]);

#endif
