/* SPDX-License-Identifier: MIT
 *
 * A program that the runner started: its records and, after its end, its exit status.
 */
#ifndef CLI_RUN_RESULT_H
#define CLI_RUN_RESULT_H

#include <stdint.h>
#include <sys/types.h>

#include "record/record.h"

struct run_result {
    pid_t child;
    int status;               /* from waitpid, after the end */
    uint64_t ended_ns;        /* CLOCK_MONOTONIC, after the end */
    int record_fd;            /* the memory file */
    struct hd_record *record; /* HD_RECORDS records, shared with the program; [0] is of the first image.
                                 After runner_stop_sharing a private copy of the runner */
};

#endif
