/* SPDX-License-Identifier: MIT
 *
 * Adds samples to the sums of a turn. Pure: no allocation, no system call.
 */
#ifndef HD_WEIGHING_H
#define HD_WEIGHING_H

#include "cause/sums.h"

/* Splits the sample's time into time without a CPU, time on a CPU, and the rest, which goes to the cause that
 * the sample shows. */
void hd_cause_add(struct hd_cause_sums *s, const struct hd_probe *p);

/* Cuts all times to `total_ns`, for a turn that turns out to be shorter than the samples. */
void hd_cause_limit(struct hd_cause_sums *s, uint64_t total_ns);

/* Removes the names of files and peers: sentences do without them. */
void hd_cause_forget_paths(struct hd_cause_sums *s);

#endif
