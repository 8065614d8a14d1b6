/* SPDX-License-Identifier: MIT
 *
 * Was a signal for us alone, or for our whole process group? The kernel does not say, and the program must
 * not get one twice that it got itself. So a process of ours stands beside us in the group with every signal
 * blocked: what was sent to the group, or to each process of a control group, is pending there too. And
 * it sees when the program ends while we are stopped. Ordinary code.
 */
#ifndef CLI_SIGNAL_PROBE_H
#define CLI_SIGNAL_PROBE_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct signal_probe {
    pid_t pid;                  /* 0: there is none, and every signal counts as ours alone */
    int talk;                   /* a set of signals and it forgets them, a byte and it has */
    _Atomic uint64_t *ended_ns; /* shared with it; NULL: there is none */
};

/* Every signal is blocked in the caller that is forwarded. `program`: a descriptor of that process; negative:
 * there is none. */
void signal_probe_start(struct signal_probe *p, int program);
/* When the program ended, as it saw that, by CLOCK_MONOTONIC; 0: it has not. */
uint64_t signal_probe_saw_end(const struct signal_probe *p);
/* True when it got the signal too. Waits some milliseconds for it. */
bool signal_probe_has(const struct signal_probe *p, int signal);
/* It forgets these. */
void signal_probe_forget(const struct signal_probe *p, const sigset_t *set);
void signal_probe_end(struct signal_probe *p);

#endif
