/* SPDX-License-Identifier: MIT
 *
 * Adds up the time of a turn by cause, sample by sample. Pure: no allocation, no system call.
 */
#ifndef HD_WEIGHING_H
#define HD_WEIGHING_H

#include "cause/sums.h"

/* Adds the time of one sample to `s`. The kernel's statistics say how long the thread waited for a CPU,
 * and how long it ran. The rest counts for the cause that the sample shows, such as a lock. */
void hd_cause_add(struct hd_cause_sums *s, const struct hd_probe *p);

/* Limits the sums to `total_ns`. The turn may be shorter than the sum of the samples' times, since a stop
 * of the process may become known late. */
void hd_cause_limit(struct hd_cause_sums *s, uint64_t total_ns);

/* Removes the names of files and peers, for a report that must not have them. Sentences then have no such
 * names. */
void hd_cause_forget_paths(struct hd_cause_sums *s);

#endif
