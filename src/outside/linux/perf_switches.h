/* SPDX-License-Identifier: MIT
 *
 * The context switches of one thread, as the kernel records them. They say when a thread blocked, and when it
 * got a CPU again. The thread pays some 2 us a block. Ordinary code, on the hook's thread.
 */
#ifndef HD_PERF_SWITCHES_H
#define HD_PERF_SWITCHES_H

#include "outside/linux/perf_ring.h"
#include "outside/linux/poll_thread.h"

struct hd_perf_switches {
    struct hd_perf_ring ring;
    uint64_t left_ns;  /* when the thread left its CPU to block; 0: it is not blocked */
    uint64_t wakes;    /* since the last look that saw the loop's wait */
    uint64_t first_ns; /* of these wakes */
    uint64_t woke_ns;  /* the last of them */
};

/* Like hd_suspicion_prove. If the thread has blocked only in its loop's wait, its turn starts at the wake. */
void hd_perf_switches_prove(struct hd_poll_thread *t, struct hd_poll_look *look);
void hd_perf_switches_end(struct hd_poll_thread *t);

#endif
