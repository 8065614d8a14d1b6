/* SPDX-License-Identifier: MIT
 *
 * A program that the runner started: its records and, after the program's end, its exit status.
 */
#ifndef CLI_RUN_RESULT_H
#define CLI_RUN_RESULT_H

#include <stdint.h>
#include <sys/types.h>

#include "record/record.h"

struct run_result {
    pid_t child;
    int status;        /* the status from waitpid, set after the program's end */
    uint64_t ended_ns; /* the time of the program's end by CLOCK_MONOTONIC, set after the end */
    int record_fd;     /* descriptor of the records' memory file */
    /* HD_RECORDS records, shared with the program. [0] is the record of the first program that process
     * `child` executed. After runner_stop_sharing this is a private copy of the records, which only the
     * runner has. */
    struct hd_record *record;
};

#endif
