/* SPDX-License-Identifier: MIT
 *
 * Finishes the reports of a watched program that has ended: deferred reports, an open hang, the session
 * report. In the runner, or in the next run for a program that had no runner. Writes into the spool.
 */
#ifndef CLI_SETTLE_H
#define CLI_SETTLE_H

#include <stddef.h>
#include <stdint.h>

#include "cli/settle/run_result.h"

#define SETTLE_TEXT_BYTES (256u * 1024)

/* Deferred reports that were dropped because their loop was not certain at the end. Plain values, for shared
 * memory. */
struct settle_dropped {
    uint32_t count;
    uint64_t longest_ns; /* duration of the longest hang */
    size_t bytes;        /* of `text`, its report; 0: the report was too long */
    char text[SETTLE_TEXT_BYTES];
};

/* Publishes or drops deferred reports, turns a hang in which the program died into a fatal hang, and writes
 * the session report. `previous_end`: the report's word for the end of the run before; NULL: not known. */
void settle_run(const struct run_result *r, const char *previous_end, struct settle_dropped *dropped);

/* The same for a dead program without a runner. `spool`: the record's folder, which the program may have
 * known by another path. How the program ended is not known: an open hang counts as fatal unless the monitor
 * had stopped. 0 or a negative errno value: a write failed, and a later call can do the rest. */
int settle_orphan(struct hd_record *table, const char *spool);

#endif
