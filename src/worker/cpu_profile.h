/* SPDX-License-Identifier: MIT
 *
 * The stacks of one thread over one period, weighed by the CPU time that the thread used. Time without a
 * known stack is in the sum, and in no function. Worker.
 */
#ifndef HD_CPU_PROFILE_H
#define HD_CPU_PROFILE_H

#include "turn/turn.h"
#include "unwind/unwind.h"

struct hd_cpu_profile {
    bool on;
    bool watched; /* else the thread gets no signal: only its waits are read */
    uint8_t way, stop;
    hd_thread_id thread;
    uint32_t cut, taken; /* taken: samples, also those without a stack */
    uint64_t start_ns, start_wall_ns;
    uint64_t cpu_ns, process_cpu_ns; /* used before the start */
    uint64_t charged_ns;             /* the thread's CPU time up to the newest stack that was charged */
    struct hd_tree tree;
};

/* Starts a profile of this thread; its tree is in the turns' pool. `before_ns`: time before the start that
 * belongs to the report. False: the thread has ended. */
bool hd_cpu_profile_start(struct hd_cpu_profile *p, struct hd_turns *turns, hd_thread_id thread,
                          uint64_t before_ns);
void hd_cpu_profile_drop(struct hd_cpu_profile *p, struct hd_turns *turns);

/* A stack of any thread: the profile takes those of its own. `count` frames, innermost first; 0: no stack. */
void hd_cpu_profile_add(struct hd_cpu_profile *p, const struct hd_tree_pool *pool, hd_thread_id thread,
                        const struct hd_capture *c, const struct hd_walk *walk, const struct hd_frame *frames,
                        uint32_t count);

/* Charges the CPU time since the newest stack to no function. *cpu_ns: the thread's CPU time. False: it has
 * ended. */
bool hd_cpu_profile_charge_rest(struct hd_cpu_profile *p, uint64_t *cpu_ns);

#endif
