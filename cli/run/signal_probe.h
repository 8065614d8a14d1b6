/* SPDX-License-Identifier: MIT
 *
 * Was a signal for us alone, or for our whole process group? The kernel does not say, and the program must
 * not get one twice that it got itself. So a process of ours stands beside us in the group with every signal
 * blocked: what was sent to the group, or to each process of a control group, is pending there too. And
 * it sees when the program ends while we are stopped. Ordinary code.
 */
#ifndef CLI_WITNESS_H
#define CLI_WITNESS_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct witness {
    pid_t pid;                  /* 0: there is none, and every signal counts as ours alone */
    int talk;                   /* a set of signals and it forgets them, a byte and it has */
    _Atomic uint64_t *ended_ns; /* shared with it; NULL: there is none */
};

/* Every signal is blocked in the caller that is forwarded. `program`: a descriptor of that process; negative:
 * there is none. */
void witness_start(struct witness *w, int program);
/* When the program ended, as it saw that, by CLOCK_MONOTONIC; 0: it has not. */
uint64_t witness_saw_end(const struct witness *w);
/* True when it got the signal too. Waits some milliseconds for it. */
bool witness_has(const struct witness *w, int signal);
/* It forgets these. */
void witness_forget(const struct witness *w, const sigset_t *set);
void witness_end(struct witness *w);

#endif
