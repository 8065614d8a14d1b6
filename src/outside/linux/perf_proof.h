/* SPDX-License-Identifier: MIT
 *
 * Proves that a thread which runs has not been in its loop's wait. A breakpoint of the CPU stands behind the
 * system call of the wait, and the kernel notes when the thread passes it. The program is not changed, and
 * no other thread pays. The breakpoint switches itself off after some passes, so a loop that is only busy
 * pays for these few. Ordinary code, on the hook's thread.
 */
#ifndef HD_PERF_PROOF_H
#define HD_PERF_PROOF_H

#include "outside/linux/perf_ring.h"
#include "outside/linux/poll_kinds.h"

#define HD_PROOF_PLACES 4u /* a CPU has at least so many breakpoints */

struct hd_perf_proof {
    uint64_t since_ns;  /* since this time the breakpoints are on, and the thread has passed none */
    uint64_t passed_ns; /* when the thread passed one last; 0: never */
    pid_t tid;
    unsigned places;
    unsigned passes;                /* after which a breakpoint switches itself off */
    unsigned left[HD_PROOF_PLACES]; /* passes until then */
    uint64_t pc[HD_PROOF_PLACES];
    struct hd_perf_ring ring[HD_PROOF_PLACES];
};

/* Tries a breakpoint on this thread. 0; -ENOTSUP: the CPU did not stop at it, as in some virtual machines,
 * which say so by no error; or the error of perf_event_open. */
int hd_perf_proof_try(void);

/* Zeros *p and puts breakpoints behind all waits whose verdict is HD_WAIT_IDLE. 0; -ENOENT: there is none;
 * -ENOSPC: too many; or the error of perf_event_open. After an error nothing is open. */
int hd_perf_proof_open(struct hd_perf_proof *p, pid_t tid, const struct hd_poll_kinds *kinds);
void hd_perf_proof_close(struct hd_perf_proof *p);

/* Reads the kernel's notes since the last call. 1: the thread may have been in its loop's wait; all
 * breakpoints are on again, and since_ns is now. 0: it has not. Or the error of opening a
 * breakpoint: there is no proof any more. */
int hd_perf_proof_look(struct hd_perf_proof *p, const struct hd_poll_kinds *kinds);

#endif
