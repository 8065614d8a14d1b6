/* SPDX-License-Identifier: MIT
 *
 * Finishes the reports of a watched program that has ended: deferred reports, the report of an open hang, and
 * the session report. These functions run in the program's runner. If the program had no runner, they run in
 * the runner of the next run. They write into the spool.
 */
#ifndef CLI_SETTLE_H
#define CLI_SETTLE_H

#include <stddef.h>
#include <stdint.h>

#include "cli/settle/run_result.h"

#define SETTLE_TEXT_BYTES (256u * 1024)

/* The deferred reports that were dropped, because at the program's end their loop was less than likely
 * (HD_RECORD_LOOP_LIKELY). The struct has no pointers, so that it can be in shared memory. */
struct settle_dropped {
    uint32_t count;
    uint64_t longest_ns; /* the duration of the longest hang that was dropped */
    /* the size of `text`, the report of the longest dropped hang; 0: the report was too long */
    size_t bytes;
    char text[SETTLE_TEXT_BYTES];
};

/* Publishes or drops deferred reports, and writes the session report. Turns an open hang into a fatal hang
 * if the program died in it. `previous_end`: the session report's word for how the previous run ended. NULL:
 * not known. */
void settle_run(const struct run_result *r, const char *previous_end, struct settle_dropped *dropped);

/* Settles the records of a dead program without a runner, as settle_run does. `spool`: the folder of the
 * record file, which may have had another path in the program. How the program ended is not known, so an open
 * hang counts as fatal unless the monitor had stopped. Returns 0, or a negative errno value if a write
 * failed. In this case a later call can settle the other records. */
int settle_orphan(struct hd_record *table, const char *spool);

#endif
