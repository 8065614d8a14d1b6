/* SPDX-License-Identifier: MIT
 *
 * In a pool like tokio's, the threads take turns in one loop: one waits for the epoll instance, and a lock
 * blocks the others. Such a parked thread does not hang. Ordinary code.
 */
#ifndef CLI_OUTSIDE_RECOGNISE_PARKED_H
#define CLI_OUTSIDE_RECOGNISE_PARKED_H

#include "cli/live/process.h"
#include "outside/hook.h"

struct outside_parked {
    uint64_t turn_ns; /* the earliest start of the hook's turn in which the thread was parked; 0: none */
    uint64_t sp;      /* the thread's stack pointer then */
    bool parked;      /* at the last look */
    /* the last look; the start of the time in which it is parked, or is not; by how much that may be earlier
     */
    uint64_t looked_ns, since_ns, earlier_ns;
};

/* To be called at each look in a turn. While the thread is parked, makes *seen a wait. After that the turn
 * starts when the thread is not parked any more. `epoll`: the descriptor of the loop's epoll instance. */
void outside_parked_look(struct outside_parked *k, const struct live_process *p, pid_t tid, int32_t epoll,
                         uint64_t now_ns, struct hd_hook_thread *seen);

#endif
