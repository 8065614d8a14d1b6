/* SPDX-License-Identifier: MIT
 *
 * The runner: parent of a watched program. It starts the program with the preload, forwards signals, waits,
 * and ends as the program ended. It has one thread and never writes to stderr while its reporter runs.
 */
#ifndef CLI_RUNNER_H
#define CLI_RUNNER_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "cli/reporter/reporter.h"
#include "cli/reporter/reporter_process.h"
#include "cli/run/signal_probe.h"
#include "cli/settle/run_result.h"

struct runner {
    struct run_result run;
    int signal_fd;                    /* SIGCHLD and the forwarded signals */
    struct hd_record_options decided; /* the runner's private copy, which the program cannot change */
    bool ended;
    bool end_requested;     /* the runner got a signal to end after the program's end */
    uint64_t stopped_at_ns; /* CLOCK_MONOTONIC, while the program is stopped by a signal; else 0 */
    bool stop_received;     /* the runner got the terminal's signal to stop, too */
    struct signal_probe probe;
    struct reporter_process reporter;
    struct reporter reports; /* the memory of that process */
    sigset_t merged;         /* signals that arrived again before the probe had cleared the earlier ones */
};

/* ftruncate that ignores a limit on file size. 0 or a negative errno value. */
int runner_enlarge(int fd, off_t bytes);

/* Makes the memory that the program and the reporter share with the runner, and blocks the signals that are
 * forwarded. 0 or a negative errno value. */
int runner_prepare(struct runner *r);

/* Starts argv[0], found as a shell would, under `preload` (a path list). 0, or a negative errno value when it
 * could not be started at all (-ENOENT: no such program). `tried`: it is the program that the kernel refused.
 */
int runner_start(struct runner *r, char *const argv[], const char *preload, bool *tried);

/* Takes what signal_fd has: forwards signals, counts stops, sets `ended`. */
void runner_handle_signals(struct runner *r);

/* The program has ended: from now on `record` is a checked copy. */
void runner_stop_sharing(struct runner *r);

/* Takes what signal_fd has when the program has ended: true when the runner is to end too, from then on. */
bool runner_end_requested(struct runner *r);

/* Waits until the reporter has printed all, for a bounded time: a reader may take nothing. */
void runner_finish_reporter(struct runner *r, const struct reporter_options *o);

/* Ends this process as the program ended: its exit status, or its signal. */
_Noreturn void runner_end_alike(int status);

#endif
