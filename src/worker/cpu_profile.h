/* SPDX-License-Identifier: MIT
 *
 * The busiest thread of a process that uses too much of a CPU: its stacks of one period, weighed by the CPU
 * time that it used, and the `cpu` report. Worker: no allocation.
 */
#ifndef HD_CPU_PROFILE_H
#define HD_CPU_PROFILE_H

#include "base/types.h"
#include "os/thread_id.h"
#include "report/call_tree.h"

struct hd_worker;
struct hd_message;
struct hd_walk;

struct hd_cpu_profile {
    bool on;
    bool watched; /* else its thread gets no signal, and is read only when it waits */
    uint8_t way, stop;
    hd_thread_id thread;
    uint32_t cut, taken; /* samples, also those without a stack */
    uint64_t start_ns, start_wall_ns;
    uint64_t cpu_ns, process_cpu_ns; /* used before */
    uint64_t charged_ns;             /* the thread's CPU time up to the last stack that has its time */
    struct hd_tree tree;
};

/* HD_MSG_CPU_*. */
void hd_cpu_profile_handle(struct hd_worker *k, const struct hd_message *msg, const struct hd_capture *c);

/* The stack in k->frames, of this thread in this state; any thread's:
 * the profile takes what is its own. */
void hd_cpu_profile_add(struct hd_worker *k, hd_thread_id thread, const struct hd_capture *c,
                        const struct hd_walk *walk, uint32_t count);
#endif
