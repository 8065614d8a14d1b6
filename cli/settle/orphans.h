/* SPDX-License-Identifier: MIT
 *
 * Records that programs without a runner (--exec) left in a spool, and deferred reports that no process
 * shows.
 */
#ifndef CLI_ORPHANS_H
#define CLI_ORPHANS_H

#include <stdbool.h>

#include "record/record.h"

#define ORPHAN_TABLE_BYTES (HD_RECORDS * sizeof(struct hd_record))
#define ORPHAN_SUFFIX ".record"

/* Settles the record of each dead program: a hang in which it died becomes a fatal hang. Prints that, and
 * which files another version of Hangdog wrote, unless `quiet`. Removes deferred reports that are a month
 * old. 0, or a negative errno value: not all could be written, and the next call tries again. */
int settle_orphans(const char *spool, bool quiet);

#endif
