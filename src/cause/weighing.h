/* SPDX-License-Identifier: MIT
 *
 * Adds up the time of a turn by cause, sample by sample. Pure: no allocation, no system call.
 */
#ifndef HD_WEIGHING_H
#define HD_WEIGHING_H

#include "cause/sums.h"

/* Adds the time of one sample to `s`. The kernel's statistics say how long the thread waited for a CPU,
 * and how long it ran. The rest of the sample's time counts for the cause that the sample shows, such as a
 * lock. */
void hd_cause_add(struct hd_cause_sums *s, const struct hd_probe *p);

/* Limits the sums to `total_ns`, the time of the turn. The samples' times may add up to more. They may
 * include a time in which the process was stopped, which Hangdog may find out later. And the first sample may
 * begin before the turn. */
void hd_cause_limit(struct hd_cause_sums *s, uint64_t total_ns);

/* Removes the names of files and peers from `s`, so that no sentence contains them. The caller uses this for
 * a report that must not have such names. */
void hd_cause_forget_paths(struct hd_cause_sums *s);

#endif
