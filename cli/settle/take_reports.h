/* SPDX-License-Identifier: MIT
 *
 * Writes into the spool the reports that a watched process may not write itself, because it dropped its
 * rights, changed its root or may write no large file (record/outbox.h). The program can write every byte
 * that comes: of a report the runner believes that it is one of this run, and nothing else. Ordinary code.
 */
#ifndef CLI_TAKE_REPORTS_H
#define CLI_TAKE_REPORTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "record/record.h"

#define TAKE_REPORTS_MAX 100 /* of one run: more would push the reports of others out of the spool */

struct take_reports {
    const struct hd_record *records;         /* shared */
    struct hd_outbox *outbox;                /* shared */
    const struct hd_record_options *decided; /* the runner's own */
    unsigned taken, failed;                  /* reports; of those that are complete */
    int error;                               /* errno value of the first failure */
    atomic_bool ends;
    bool started;
    pthread_t thread;
};

/* Starts a thread that waits for reports. After the program's start, so that the program's is a process of
 * one thread until then. Without a thread such reports are lost. */
void take_reports_start(struct take_reports *t, struct hd_record *records,
                        const struct hd_record_options *decided);

/* The program has ended: takes the last one. */
void take_reports_end(struct take_reports *t);
/* Adds what could not be written to the runner's own record. */
void take_reports_count(const struct take_reports *t, struct hd_record *record);

#endif
