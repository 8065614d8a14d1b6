/* SPDX-License-Identifier: MIT
 *
 * Takes reports from the outbox (record/outbox.h) and writes them into the spool. The reports come from a
 * watched process that has no right to write into the spool. The program can write every byte of a report. So
 * a report must be of this run, and can replace only a report of this run.
 */
#ifndef CLI_TAKE_REPORTS_H
#define CLI_TAKE_REPORTS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "record/record.h"

/* the most new reports that the reporter takes in one run; more would displace other runs' reports from
 * the spool */
#define TAKE_REPORTS_MAX 100

struct take_counts {
    /* `taken`: the number of new reports. `failed`: the number of complete reports that could not be
     * written. */
    atomic_uint taken, failed;
    atomic_int error; /* the errno value of the first failed write */
};

struct take_reports {
    const struct hd_record *records;         /* shared with the program */
    struct hd_outbox *outbox;                /* shared with the program */
    const struct hd_record_options *decided; /* the options that the runner set */
    struct take_counts *counts;              /* of the run */
};

void take_reports_init(struct take_reports *t, struct hd_record *records,
                       const struct hd_record_options *decided, struct take_counts *counts);
/* Starts a thread of the reporter, which takes reports until the reporter ends. `t` must stay valid until the
 * reporter ends. If the thread cannot start, the reports in the outbox are lost. */
void take_reports_start(struct take_reports *t);
/* Called by the runner after the program's end. Blocks for up to 2 s until the reporter has taken the last
 * report. If the reporter has not taken it, this function does. At its end the function marks the
 * outbox as in use. */
void take_reports_end(struct take_reports *t);
/* Adds the number of failed writes in `counts` to `record`, which is the runner's private copy of a
 * record. */
void take_reports_count(const struct take_counts *counts, struct hd_record *record);

#endif
