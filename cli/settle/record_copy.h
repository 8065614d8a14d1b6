/* SPDX-License-Identifier: MIT
 *
 * Copies a record that the runner shares with the watched program. The copy belongs only to the runner. The
 * program can write every byte of the shared record, and may have fewer rights than the runner. So the copy
 * takes no path from the program, and bounds each value.
 */
#ifndef HD_RECORD_COPY_H
#define HD_RECORD_COPY_H

#include "record/record.h"

/* Copies record `from` to `to`. The options in the copy come from `decided`: the runner set them before
 * the program's start. If not `first`, the copy keeps the session, the app name and the start time of `from`.
 * A state out of range becomes 0; an id that is not a UUID becomes zeros. Sums and times are at most 4.5
 * years, so that their sums fit into a JSON integer. The function is pure. */
void record_copy(struct hd_record *to, const struct hd_record *from, const struct hd_record_options *decided,
                 bool first);

#endif
