/* SPDX-License-Identifier: MIT
 *
 * The runner's copy of the record that it shares with the watched program. The program can write every byte
 * of that memory, and may have fewer rights than the runner: nothing of it is a path, and every value is
 * bounded.
 */
#ifndef HD_RECORD_COPY_H
#define HD_RECORD_COPY_H

#include "record/record.h"

/* One record into private memory. What the runner decided before the program started (spool, limits, times)
 * comes from `decided`; of all but the first record their own session, name and start are kept. States out of
 * range become the first one, ids that are no UUID are cleared, sums and times of more than 4.5 years become
 * that: what they add up to is a number of JSON. Pure. */
void record_copy(struct hd_record *to, const struct hd_record *from, const struct hd_record_options *decided,
                 bool first);

#endif
