/* SPDX-License-Identifier: MIT
 *
 * The report of kind `live`: the threads of a running process as JSON, with names. Ordinary code.
 */
#ifndef CLI_LIVE_REPORT_H
#define CLI_LIVE_REPORT_H

#include <jansson.h>

#include "cli/live/threads.h"
#include "symbolizer/symbolizer.h"

/* NULL: there is no memory. */
json_t *live_report(const struct live_threads *t);

/* A symbolizer for the files that the process has mapped, for one or several reports. `debuginfod`: queries
 * servers too. NULL: no memory. The caller calls symbolizer_destroy before the threads are freed. */
struct symbolizer *live_symbolizer(const struct live_threads *t, bool debuginfod);

/* Adds functions, files and lines, from the files that the process has mapped. `notes`: why some are missing;
 * json_decref it. */
void live_report_symbolicate(json_t *report, const struct live_threads *t, struct symbolizer *s,
                             json_t **notes);

/* Then adds what each thread waits for, as its "cause", and the rings of threads that wait for each other's
 * locks, as "deadlocks". */
void live_report_add_waits(json_t *report, const struct live_threads *t);

#endif
