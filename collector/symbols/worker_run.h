/* SPDX-License-Identifier: MIT
 *
 * Runs the worker, hangdog-name: it checks one debug file, or names one report. The worker is a process of
 * its own: what a hostile debug file does to it is not done to the collector. Any thread; blocks until it
 * ends.
 */
#ifndef COLLECTOR_WORKER_RUN_H
#define COLLECTOR_WORKER_RUN_H

#include <stddef.h>

#define WORKER_SECONDS 30
#define WORKER_WHY_BYTES 128

enum worker_end {
    WORKER_DONE,
    WORKER_BAD_FILE,   /* a check only: the file is not what its name says, or the parser failed on it */
    WORKER_CRASHED,    /* by this report with these files: the same again would end the same way */
    WORKER_STOPPED,    /* a timeout, a kill, no memory: it says nothing of the file or the report */
    WORKER_NOT_STARTED /* neither does this */
};

struct worker_result {
    enum worker_end end;
    char *named; /* WORKER_DONE of worker_name: the report with names; the caller frees it */
    size_t bytes;
    char why[WORKER_WHY_BYTES]; /* else */
};

/* `folder` has the debug files. */
void worker_check(const char *folder, const char *build, struct worker_result *result);
void worker_name(const char *folder, const char *report, size_t bytes, struct worker_result *result);

#endif
