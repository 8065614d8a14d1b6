/* SPDX-License-Identifier: MIT
 *
 * The table of causes, with one row for each. A row knows which evidence shows the cause, and writes the
 * cause's sentence for the user. The table itself is in rows.c. Pure: no allocation, no system call.
 */
#ifndef HD_ROWS_H
#define HD_ROWS_H

#include "base/text.h"
#include "cause/sums.h"

/* Returns the cause that a sample of a blocked thread shows. */
enum hd_cause_kind hd_cause_of_block(const struct hd_probe *p);

/* Adds `ns`, a time on a CPU, to `ran_ns` of each cause that the running code shows, such as a garbage
 * collector. */
void hd_cause_add_code(const struct hd_probe *p, uint64_t ns, uint64_t ran_ns[HD_CAUSE_KINDS]);

/* Writes the sentence of cause `kind`, which must have some time in `s`: "waited for a mutex held by thread
 * 9131 (61% of the time)". If the cause's share of the turn's time is 95 % or more, the sentence leaves out
 * the part in brackets. `ran`: true if the sentence is about code on a CPU, false if it is about blocked
 * calls. */
void hd_cause_say(struct hd_text *t, const struct hd_cause_sums *s, enum hd_cause_kind kind, bool ran);

#endif
