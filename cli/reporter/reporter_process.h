/* SPDX-License-Identifier: MIT
 *
 * The reporter's process, as its starter sees it: the runner, or `hangdog attach`. It is started, started
 * once more without symbols when it dies, and ended. Debug information takes memory without bound, and libdw
 * may end its process: that must not be the one that has the program's exit status.
 */
#ifndef CLI_REPORTER_PROCESS_H
#define CLI_REPORTER_PROCESS_H

#include "cli/reporter/printer.h"

struct reporter_process {
    struct printer *printer;
    void (*run)(void *reporter); /* in the reporter's process: all of it */
    void *reporter;
    pid_t pid;       /* 0: none runs */
    unsigned starts; /* 2 at most */
    bool done;       /* the reporter has ended normally */
    bool stuck;      /* the starter killed the reporter, which took too long */
    unsigned killed; /* reporters ended by a SIGKILL not from the starter: memory was short */
};

/* After the program's start. Without a process nothing is printed while the program runs. `printer` and
 * `reporter` are memory of the starter, and each reporter starts with a copy. */
void reporter_start(struct reporter_process *p, struct printer *printer, void (*run)(void *reporter),
                    void *reporter);

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

/* After reporter_finish: waits until the reporter has printed all, for a bounded time, since a reader may
 * take nothing. `end_requested` reads signal_fd: true once a signal asks the command to end. */
void reporter_wait(struct reporter_process *p, int signal_fd, bool (*end_requested)(void *arg), void *arg);

#endif
