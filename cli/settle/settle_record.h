/* SPDX-License-Identifier: MIT
 *
 * Settles one record: the deferred reports, the report of the open hang, and the session report.
 */
#ifndef CLI_SETTLE_RECORD_H
#define CLI_SETTLE_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "record/record.h"

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

/* How a process ended: the number of the signal that ended the process, or one of these values. */
enum {
    SETTLE_BY_ITSELF = 0,
    SETTLE_DEATH_UNKNOWN = -1
};

/* Settles the record `c`. `death`: how the process ended. `ended_ns`: when it ended; 0: not known. `used_ns`:
 * how long the program ran. Returns 0, or a negative errno value if a report could not be written. */
int settle_record(struct hd_record *c, int death, uint64_t ended_ns, uint64_t used_ns,
                  const char *previous_end, struct settle_dropped *dropped);

/* Adds `more` to a sum in the record, which stays a JSON integer. */
void settle_record_add(_Atomic uint64_t *sum, uint64_t more);

#endif
