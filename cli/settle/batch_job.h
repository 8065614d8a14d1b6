/* SPDX-License-Identifier: MIT
 *
 * Finds batch jobs among programs with a slow start: after the start of a batch job no loop ever waits.
 */
#ifndef CLI_BATCH_JOB_H
#define CLI_BATCH_JOB_H

#include <stdbool.h>

#include "record/record.h"

/* True: the deferred report at `path` is of the start of a batch job. Its program has a loop, as each script
 * of node polls once before it ends, but the loop never waited. A start of 10 s or more counts as frozen. */
bool batch_job_launch(const struct hd_record *c, const char *path);

#endif
