/* SPDX-License-Identifier: MIT
 *
 * The causes, a row each: which evidence shows a cause, and its sentence for the user. rows.c has the table.
 * Pure: no allocation, no system call.
 */
#ifndef HD_ROWS_H
#define HD_ROWS_H

#include "base/text.h"
#include "cause/sums.h"

/* The cause of a sample that found the thread blocked. */
enum hd_cause_kind hd_cause_of_block(const struct hd_probe *p);

/* Adds time on a CPU to each kind whose code the thread ran. */
void hd_cause_add_code(const struct hd_probe *p, uint64_t ns, uint64_t ran_ns[HD_CAUSE_KINDS]);

/* Writes the sentence of a kind that has time: "waited for a mutex held by thread 9131 (61% of the time)".
 * The share is absent where it is nearly all. `ran`: for code of this kind on a CPU, not for waits. */
void hd_cause_say(struct hd_text *t, const struct hd_cause_sums *s, enum hd_cause_kind kind, bool ran);

#endif
