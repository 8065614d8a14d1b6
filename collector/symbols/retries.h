/* SPDX-License-Identifier: MIT
 *
 * Jobs of the worker that ended without a verdict, and when each may be tried again. For one thread.
 */
#ifndef COLLECTOR_RETRIES_H
#define COLLECTOR_RETRIES_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/report/row.h"
#include "collector/symbols/debug_folder.h"

#define RETRIES_MAX 32 /* fewer than one page of reports: a page always has others */
#define RETRY_TRIES 3

struct retry {
    char build[DEBUG_ID_BYTES], report[ROW_ID_CHARS + 1]; /* report "": the check of the file */
    int tries;
    int64_t at_ms;
};

struct retries {
    struct retry entry[RETRIES_MAX];
    int count;
};

/* The job's time has not come. */
bool retries_waits(const struct retries *r, const char *build, const char *report, int64_t now_ms);
/* Notes a try that failed. False: it was the last one, or there are too many; the entry stays until
 * retries_end. */
bool retries_add(struct retries *r, const char *build, const char *report, int64_t now_ms);
/* The job is done, or is given up. */
void retries_end(struct retries *r, const char *build, const char *report);
/* When the next job's time comes; `otherwise`: none waits until then. */
int64_t retries_next_ms(const struct retries *r, int64_t otherwise);

#endif
