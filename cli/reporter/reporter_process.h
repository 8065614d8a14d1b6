/* SPDX-License-Identifier: MIT
 *
 * The reporter's process, as the runner sees it: started, started once more without symbols when it dies, and
 * ended. Debug information takes memory without bound, and libdw may end its process: that must not be the
 * one that has the program's exit status.
 */
#ifndef CLI_REPORTER_PROCESS_H
#define CLI_REPORTER_PROCESS_H

#include "cli/reporter/reporter.h"

struct reporter_process {
    struct reporter reporter;
    pid_t pid;       /* 0: none runs */
    unsigned starts; /* 2 at most */
    bool done;       /* the reporter has ended normally */
    bool stuck;      /* the runner killed the reporter, which took too long */
    unsigned killed; /* reporters ended by a SIGKILL not from the runner: memory was short */
};

/* Maps what is shared. 0 or a negative errno value. */
int reporter_prepare(struct reporter_process *p);
/* After the program's start. Without a process nothing is printed while the program runs. */
void reporter_start(struct reporter_process *p, const struct reporter_options *options);

/* This child of the runner has ended: true where it was the reporter. A first one that died is followed by
 * another. */
bool reporter_reap(struct reporter_process *p, pid_t pid);

/* The program has ended and `shared` is filled: the reporter prints the rest. */
void reporter_finish(struct reporter_process *p);
/* A signal asks the runner to end: the reporter waits for no command. */
void reporter_hurry(struct reporter_process *p);
/* Kills a reporter that takes too long. `again`: another one prints the rest, without symbols. */
void reporter_kill(struct reporter_process *p, bool again);
/* Continues a reporter that was stopped together with the runner. */
void reporter_continue(const struct reporter_process *p);
/* True: the reporter's output waits for a reader. */
bool reporter_is_writing(const struct reporter_process *p, uint64_t *taken_ns);

#endif
