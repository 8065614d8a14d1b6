/* SPDX-License-Identifier: MIT
 *
 * In a pool like tokio's, the threads take turns in one loop: one waits for the epoll instance, and a lock
 * blocks the others. Such a parked thread does not hang. Ordinary code.
 */
#ifndef CLI_OUTSIDE_RECOGNISE_PARKED_H
#define CLI_OUTSIDE_RECOGNISE_PARKED_H

#include "cli/live/process.h"

struct outside_parked {
    uint64_t turn_ns; /* the start of the last turn in which the thread was parked; 0: none */
    uint64_t sp;      /* the thread's stack pointer then */
};

/* True: the thread is parked, or was in this turn. `epoll`: the descriptor of the loop's epoll instance. */
bool outside_parked_now(struct outside_parked *k, const struct live_process *p, pid_t tid, int32_t epoll,
                        uint64_t turn_ns);

#endif
