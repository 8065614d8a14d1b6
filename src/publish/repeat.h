/* SPDX-License-Identifier: MIT
 *
 * Decides whether a hang repeats the hang of the newest full report. The report of a repeat is brief, and
 * refers to the full report. Uses no clock and no file. On the worker thread.
 */
#ifndef HD_REPEAT_H
#define HD_REPEAT_H

#include "report/report.h"

/* The newest full report: the newest one that is complete and not brief. The struct has only the members that
 * later reports need for the comparison. */
struct hd_repeat {
    uint64_t fingerprint;
    uint64_t stack; /* hd_fingerprint_of_stack() */
    uint64_t duration_ns;
    uint8_t id[HD_UUID_BYTES];
};

/* True: report `r` repeats the report `before`, and the hang of `r` is not much longer. `stack`: the
 * fingerprint of the stack of `r`. */
bool hd_repeat_matches(const struct hd_repeat *before, const struct hd_report *r, uint64_t stack);
void hd_repeat_store(struct hd_repeat *before, const struct hd_report *r, uint64_t stack);

#endif
