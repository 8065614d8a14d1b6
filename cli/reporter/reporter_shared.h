/* SPDX-License-Identifier: MIT
 *
 * Memory that the runner and its reporters share. The watched program has none of it.
 */
#ifndef CLI_REPORTER_SHARED_H
#define CLI_REPORTER_SHARED_H

#include <stdatomic.h>
#include <stdbool.h>

#include "cli/base/output.h"
#include "cli/reporter/child_samples.h"
#include "cli/reporter/hang_table.h"
#include "cli/reporter/loop_place.h"
#include "cli/reporter/main_thread.h"
#include "cli/reporter/printed.h"
#include "cli/settle/run_result.h"
#include "cli/settle/settle.h"
#include "cli/settle/take_reports.h"
#include "record/record.h"

struct reporter_shared {
    /* the runner writes */
    atomic_bool finish; /* the program has ended and is settled: `end` and `record` are valid */
    atomic_bool hurry;  /* a signal asks the runner to end, too */
    struct run_result end;
    struct settle_dropped dropped;
    pid_t survivor;                      /* a process that the program left running, unwatched; 0: none */
    struct hd_record record[HD_RECORDS]; /* the checked copy */
    /* written by the reporter; a second reporter continues with the values */
    struct output_state output;
    struct take_counts taken;
    struct printed printed;
    struct hang_table table;
    struct main_thread main_thread;
    struct child_samples children;
    struct loop_place loop;
    bool loop_printed;
    bool crash_reported;
    atomic_bool session_printed; /* with --json */
};

#endif
