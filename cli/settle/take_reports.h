/* SPDX-License-Identifier: MIT
 * Writes into the spool the reports of a watched process that has no right to write itself (record/outbox.h).
 * The program can write every byte of them. So a report must be of this run, and can replace only a report of
 * this run.
 */
#ifndef CLI_TAKE_REPORTS_H
#define CLI_TAKE_REPORTS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "record/record.h"

#define TAKE_REPORTS_MAX 100 /* of one run: more would displace the reports of other runs */

struct take_counts {
    atomic_uint taken, failed; /* reports; `failed` counts complete reports only */
    atomic_int error;          /* errno value of the first failure */
};

struct take_reports {
    const struct hd_record *records;         /* shared with the program */
    struct hd_outbox *outbox;                /* shared with the program */
    const struct hd_record_options *decided; /* the runner's own */
    struct take_counts *counts;              /* of the run */
};

void take_reports_init(struct take_reports *t, struct hd_record *records,
                       const struct hd_record_options *decided, struct take_counts *counts);
/* Starts a thread of the reporter that takes reports until the reporter ends. `t` must stay valid as long.
 * Without a thread such reports are lost. */
void take_reports_start(struct take_reports *t);
/* In the runner, after the program's end: waits up to 2 s until the reporter has taken the last report, else
 * takes it. Then closes the outbox. */
void take_reports_end(struct take_reports *t);
/* Adds failed writes to the runner's private copy of the record. */
void take_reports_count(const struct take_counts *counts, struct hd_record *record);

#endif
