/* SPDX-License-Identifier: MIT
 * The signal probe: a child in the runner's process group, with all signals blocked. A signal that was sent
 * to the whole group, or to each process of a cgroup, is pending in the probe too. The program then has the
 * signal already, and the runner must not pass it on. The probe also notices the program's end while the
 * runner is stopped. The runner's main thread.
 */
#ifndef CLI_SIGNAL_PROBE_H
#define CLI_SIGNAL_PROBE_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct signal_probe {
    pid_t pid; /* 0: no probe; then every signal counts as sent to the runner only */
    int talk;  /* socket: the runner sends a set of signals to clear, the probe replies with one byte */
    _Atomic uint64_t *ended_ns; /* shared with the probe; NULL: not available */
};

/* Starts the probe. The caller has blocked all forwarded signals. `program`: a pidfd of the program;
 * negative: none. */
void signal_probe_start(struct signal_probe *p, int program);
/* When the probe saw the program's end, CLOCK_MONOTONIC; 0: not yet. */
uint64_t signal_probe_saw_end(const struct signal_probe *p);
/* True: the probe got the signal too. Waits some milliseconds for the signal. */
bool signal_probe_has(const struct signal_probe *p, int signal);
/* Clears these signals in the probe. */
void signal_probe_forget(const struct signal_probe *p, const sigset_t *set);
void signal_probe_end(struct signal_probe *p);

#endif
