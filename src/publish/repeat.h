/* SPDX-License-Identifier: MIT
 *
 * Whether a hang repeats the newest full report. Its own report is then brief. Pure. On the worker thread.
 */
#ifndef HD_REPEAT_H
#define HD_REPEAT_H

#include "report/report.h"

/* The newest complete report that is not brief. */
struct hd_repeat {
    uint64_t fingerprint;
    uint64_t stack; /* hd_fingerprint_of_stack() */
    uint64_t duration_ns;
    uint8_t id[HD_UUID_BYTES];
};

/* True: report `r` with this stack repeats the one before, and is hardly longer. */
bool hd_repeat_matches(const struct hd_repeat *before, const struct hd_report *r, uint64_t stack);
void hd_repeat_store(struct hd_repeat *before, const struct hd_report *r, uint64_t stack);

#endif
