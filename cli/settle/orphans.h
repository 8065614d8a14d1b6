/* SPDX-License-Identifier: MIT
 *
 * Settles the record files in a spool. Each file belongs to a program without a runner (--exec), or to a
 * program that has lost its runner. Also removes old deferred reports.
 */
#ifndef CLI_ORPHANS_H
#define CLI_ORPHANS_H

#include <stdbool.h>

#include "record/record.h"

#define ORPHAN_TABLE_BYTES (HD_RECORDS * sizeof(struct hd_record))
#define ORPHAN_SUFFIX ".record"

/* Settles the record of each dead program, so that a hang which was open at the program's death becomes a
 * fatal hang. Unless `quiet`, prints each fatal hang, and the name of each record file that another version
 * of Hangdog wrote. Removes old deferred reports. Returns 0, or a negative errno value if some report could
 * not be written. In this case the next call tries again. */
int settle_orphans(const char *spool, bool quiet);

#endif
