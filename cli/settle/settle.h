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
#include "cli/settle/settle_record.h"

/* Publishes or drops deferred reports, and writes the session report. Turns an open hang into a fatal hang
 * if the program died in it. `previous_end`: the session report's word for how the previous run ended. NULL:
 * not known. */
void settle_run(const struct run_result *r, const char *previous_end, struct settle_dropped *dropped);

/* Settles the records of a dead program without a runner, as settle_run does. `spool`: the folder of the
 * record file, which may have had another path in the program. How the program ended is not known, so an open
 * hang counts as fatal unless the monitor had stopped. Returns 0, or a negative errno value if a write
 * failed. In this case a later call can settle the other records. */
int settle_orphan(struct hd_record *table, const char *spool);

/* Settles the record of one process that a watcher watched from outside. `lives`: the process still runs, and
 * is watched no longer. `ended_ns`: when it ended; 0: not known. Otherwise as settle_orphan. */
int settle_outside(struct hd_record *c, bool lives, uint64_t ended_ns);

#endif
