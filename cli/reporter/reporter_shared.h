/* SPDX-License-Identifier: MIT
 *
 * Memory that the runner and its reporters share. The watched program has none of it.
 */
#ifndef CLI_REPORTER_SHARED_H
#define CLI_REPORTER_SHARED_H

#include <stdbool.h>

#include "cli/reporter/child_samples.h"
#include "cli/reporter/loop_place.h"
#include "cli/reporter/main_thread.h"
#include "cli/reporter/printer_state.h"
#include "cli/settle/run_result.h"
#include "cli/settle/settle.h"
#include "cli/settle/take_reports.h"
#include "record/record.h"

struct reporter_shared {
    struct printer_shared print; /* finish: the program is settled, so `end` and `record` are valid */
    /* the runner writes */
    struct run_result end;
    struct settle_dropped dropped;
    pid_t survivor;                      /* a process that the program left running, unwatched; 0: none */
    struct hd_record record[HD_RECORDS]; /* the checked copy */
    /* written by the reporter; a second reporter continues with the values */
    struct take_counts taken;
    struct main_thread main_thread;
    struct child_samples children;
    struct loop_place loop;
    bool loop_printed;
};

#endif
