/* SPDX-License-Identifier: MIT
 *
 * The stacks of one thread over one period, weighed by the CPU time that the thread used. Time without a
 * known stack is in the sum, and in no function. On the worker thread.
 */
#ifndef HD_CPU_PROFILE_H
#define HD_CPU_PROFILE_H

#include "turn/turn.h"
#include "unwind/unwind.h"

struct hd_cpu_profile {
    bool on;
    bool watched; /* the loop's thread is signalled; of any other thread only waits are read */
    uint8_t way, stop;
    hd_thread_id thread;
    uint32_t cut, taken; /* taken: samples, with or without a stack */
    uint64_t start_ns, start_wall_ns;
    uint64_t cpu_ns, process_cpu_ns; /* CPU time used before the start */
    uint64_t charged_ns;             /* CPU time of the thread at the newest stack that was charged */
    struct hd_tree tree;
};

/* Starts a profile of this thread; its tree is in the pool of the turns. `before_ns`: time before now that
 * the report includes. False: the thread has ended. */
bool hd_cpu_profile_start(struct hd_cpu_profile *p, struct hd_turns *turns, hd_thread_id thread,
                          uint64_t before_ns);
void hd_cpu_profile_drop(struct hd_cpu_profile *p, struct hd_turns *turns);

/* Adds a stack; ignores that of another thread. `count` frames, innermost first; 0: no stack. */
void hd_cpu_profile_add(struct hd_cpu_profile *p, const struct hd_tree_pool *pool, hd_thread_id thread,
                        const struct hd_capture *c, const struct hd_walk *walk, const struct hd_frame *frames,
                        uint32_t count);

/* Charges the CPU time since the newest stack to no function. *cpu_ns: CPU time of the thread. False: it has
 * ended. */
bool hd_cpu_profile_charge_rest(struct hd_cpu_profile *p, uint64_t *cpu_ns);

#endif
