/* SPDX-License-Identifier: MIT
 *
 * A profile: the call tree of one thread, from the profile's start until its report. The tree's times are CPU
 * times of the thread. CPU time without a known stack is in the tree's total, and in no function. On the
 * worker thread.
 */
#ifndef HD_CPU_PROFILE_H
#define HD_CPU_PROFILE_H

#include "turn/turn.h"
#include "unwind/unwind.h"

struct hd_cpu_profile {
    bool on;
    /* True: samples show the thread while it runs. The thread has a loop, and the monitor samples it; or the
     * system reads the stack of a running thread. False: the worker reads the thread's stack only while the
     * thread is blocked. */
    bool while_running;
    uint8_t way, stop;
    hd_thread_id thread;
    /* cut: the number of call frames left out of the newest stack; taken: the number of samples, with or
     * without a stack */
    uint32_t cut, taken;
    uint64_t start_ns, start_wall_ns;
    /* CPU time of the profile's thread, and of the process, at the start of the profile */
    uint64_t cpu_ns, process_cpu_ns;
    uint64_t charged_ns; /* CPU time of the profile's thread when the profile last charged a stack */
    struct hd_tree tree;
};

/* Starts a profile of `thread`. The profile's call tree takes its nodes from the pool of the turns' call
 * trees. `before_ns`: how much time before the profile's start the report covers as well. False: the thread
 * has ended. */
bool hd_cpu_profile_start(struct hd_cpu_profile *p, struct hd_turns *turns, hd_thread_id thread,
                          uint64_t before_ns);
void hd_cpu_profile_drop(struct hd_cpu_profile *p, struct hd_turns *turns);

/* Adds a stack of `count` frames, innermost first. `count` is 0 if the sample has no stack. Does nothing if
 * `thread` is not the profile's thread. */
void hd_cpu_profile_add(struct hd_cpu_profile *p, const struct hd_tree_pool *pool, hd_thread_id thread,
                        const struct hd_capture *c, const struct hd_walk *walk, const struct hd_frame *frames,
                        uint32_t count);

/* Charges to the call tree's total the CPU time that the thread used since its newest stack. No function gets
 * that time. *cpu_ns: CPU time of the thread until now. False: the thread has ended. */
bool hd_cpu_profile_charge_rest(struct hd_cpu_profile *p, uint64_t *cpu_ns);

#endif
