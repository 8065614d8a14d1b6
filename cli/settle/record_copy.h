/* SPDX-License-Identifier: MIT
 * The runner's private copy of a record that is shared with the watched program. The program can write every
 * byte of the shared record, and may have fewer rights than the runner. So no path comes from the program,
 * and every value is bounded.
 */
#ifndef HD_RECORD_COPY_H
#define HD_RECORD_COPY_H

#include "record/record.h"

/* Copies one record. Options that the runner chose before the program's start (spool, limits, times) come
 * from `decided`. A record other than the first keeps its own session, name and start. A state out of range
 * becomes 0, an id that is not a UUID becomes zeros. Sums and times are at most 4.5 years, so that their sums
 * fit into a JSON integer. Pure. */
void record_copy(struct hd_record *to, const struct hd_record *from, const struct hd_record_options *decided,
                 bool first);

#endif
