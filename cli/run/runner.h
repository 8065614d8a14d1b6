/* SPDX-License-Identifier: MIT
 *
 * The runner: parent of a watched program. It starts it with the preload, keeps out of its way, and tells
 * what ended it. Ordinary code.
 */
#ifndef HD_RUNNER_H
#define HD_RUNNER_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "cli/reporter/reporter_process.h"
#include "cli/run/signal_probe.h"
#include "cli/settle/run_result.h"

struct runner {
    struct run_result run;
    int signal_fd;                    /* SIGCHLD and what is forwarded */
    struct hd_record_options decided; /* what the runner asks for; the program cannot change it here */
    bool ended;
    bool asked_to_end;      /* since then */
    uint64_t stopped_at_ns; /* CLOCK_MONOTONIC, while the program is stopped by a signal; else 0 */
    bool told_to_stop;      /* we got the terminal's signal to stop, too */
    struct witness witness;
    struct names_process names;
    sigset_t merged; /* signals that came again before the witness had forgotten those of before */
};

/* ftruncate where a limit on the size of files may be in the way. 0 or a negative errno value. */
int runner_enlarge(int fd, off_t bytes);

/* Takes what signal_fd has when the program has ended: true when we are to end too, from then on. */
bool runner_asked_to_end(struct runner *r);

/* Makes the memory file and blocks the signals that are forwarded. 0 or a negative errno value. */
int runner_prepare(struct runner *r);

/* Starts argv[0], found as a shell would, under `preload` (a path list). 0, or a negative errno value when it
 * could not be started at all (-ENOENT: no such program). `tried`: it is the program that the kernel refused.
 */
int runner_start(struct runner *r, char *const argv[], const char *preload, bool *tried);

/* The program has ended: from now on `record` is a checked copy. False: no memory, and it is all zero. */
bool runner_stop_sharing(struct runner *r);

/* Takes what signal_fd has: forwards signals, notes stops, sets `ended`. */
void runner_handle_signals(struct runner *r);

/* Ends this process as the program ended: its exit status, or its signal. */
_Noreturn void runner_end_alike(int status);
/* The same where a thread goes on, and may have for ever what an ordered end waits for. */
_Noreturn void runner_end_at_once(int status);

#endif
