/* SPDX-License-Identifier: MIT
 *
 * A live report as text for a user, without symbols. Worker: no allocation.
 */
#ifndef HD_LIVE_TEXT_H
#define HD_LIVE_TEXT_H

#include "report/report.h"

/* Writes a line for each thread, with the thread's functions below. 0 or the sink's error. */
int hd_live_text_write(const struct hd_report *r, struct hd_sink sink);

#endif
