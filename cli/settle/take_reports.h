/* SPDX-License-Identifier: MIT
 *
 * Writes into the spool the reports that a watched process may not write itself, because it dropped its
 * rights, changed its root or may write no large file (record/outbox.h). The program can write every byte
 * of them: a report is believed to be one of this run, and nothing else.
 */
#ifndef CLI_TAKE_REPORTS_H
#define CLI_TAKE_REPORTS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "record/record.h"

#define TAKE_REPORTS_MAX 100 /* of one run: more would push the reports of others out of the spool */

struct take_counts {
    atomic_uint taken, failed; /* reports; of those that are complete */
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
/* The reporter: a thread that takes reports until its process ends; `t` outlives it. Without a thread such
 * reports are lost. */
void take_reports_start(struct take_reports *t);
/* The runner, when the program has ended: waits a while until the reporter has taken the last one, else takes
 * it. None comes later. */
void take_reports_end(struct take_reports *t);
/* Adds what was not written to the runner's own record. */
void take_reports_count(const struct take_counts *counts, struct hd_record *record);

#endif
