/* SPDX-License-Identifier: MIT
 * Record files in a spool, of programs without a runner (--exec) or with a dead runner. Also removes old
 * deferred reports.
 */
#ifndef CLI_ORPHANS_H
#define CLI_ORPHANS_H

#include <stdbool.h>

#include "record/record.h"

#define ORPHAN_TABLE_BYTES (HD_RECORDS * sizeof(struct hd_record))
#define ORPHAN_SUFFIX ".record"

/* Settles the record of each dead program: an open hang becomes a fatal hang. Unless `quiet`, prints each
 * fatal hang and each file of another version. Removes deferred reports that are a month old. 0 or a negative
 * errno value: some report could not be written, and the next call tries again. */
int settle_orphans(const char *spool, bool quiet);

#endif
