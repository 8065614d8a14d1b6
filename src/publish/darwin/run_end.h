/* SPDX-License-Identifier: MIT
 *
 * How a run ended, judged at the next start by what the dead process left. Pure.
 */
#ifndef HD_RUN_END_H
#define HD_RUN_END_H

#include "record/record.h"

/* Behind the record in the file of a run. */
struct hd_life_values {
    char boot[40]; /* kern.bootsessionuuid */
    char os_version[64], app_version[HD_APP_TEXT];
    uint8_t build_id[HD_BUILD_ID_MAX];
    /* The memory of the process, and how much more the system allowed: at the newest change of the memory
     * pressure, hang or report. 0: not known. */
    _Atomic uint64_t footprint_bytes, limit_remaining_bytes;
    _Atomic bool crashed, debugger;
    _Atomic bool pressed; /* the system's memory pressure was critical */
};

/* Returns the word of the session report. `was`, `of`: the record and values of the dead run. `now`: the
 * values of this one. */
const char *hd_run_end(const struct hd_record *was, const struct hd_life_values *of,
                       const struct hd_life_values *now);

#endif
