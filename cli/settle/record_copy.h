/* SPDX-License-Identifier: MIT
 *
 * Copies a record that the runner shares with the watched program. The copy belongs only to the runner. The
 * program can write every byte of the shared record, and may have fewer rights than the runner. So the copy
 * takes no path from the program, and bounds each value.
 */
#ifndef HD_RECORD_COPY_H
#define HD_RECORD_COPY_H

#include "record/record.h"

/* Copies one record. Options that the runner set before the program's start (spool, limits, times) come from
 * `decided`. If not `first`, the record keeps its own session, name and start. A state out of range becomes
 * 0; an id that is not a UUID becomes zeros. Sums and times are at most 4.5 years, so that their sums fit
 * into a JSON integer. Pure. */
void record_copy(struct hd_record *to, const struct hd_record *from, const struct hd_record_options *decided,
                 bool first);

#endif
