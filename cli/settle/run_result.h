/* SPDX-License-Identifier: MIT
 *
 * A program that the runner started: its records and, once it has ended, how it ended.
 */
#ifndef CLI_RUN_RESULT_H
#define CLI_RUN_RESULT_H

#include <stdint.h>
#include <sys/types.h>

#include "record/record.h"

struct run_result {
    pid_t child;
    int status;               /* as waitpid gives it, once ended */
    uint64_t ended_ns;        /* CLOCK_MONOTONIC, once ended */
    int record_fd;            /* the memory file */
    struct hd_record *record; /* HD_RECORDS, mapped, shared with the program; its first image has the first.
                                 After runner_stop_sharing the runner's own copy */
};

#endif
