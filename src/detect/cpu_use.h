/* SPDX-License-Identifier: MIT
 *
 * When a process uses too much of a CPU. After a period over the limit comes a period with samples, then a
 * report and a long rest. Pure: the clocks are arguments. Monitor; no allocation, no calls.
 */
#ifndef HD_CPU_USE_H
#define HD_CPU_USE_H

#include "base/types.h"

#define HD_CPU_LIMIT 80        /* percent of one CPU */
#define HD_CPU_REST_PERIODS 20 /* periods between two reports: a minute where a period is 3 s */

enum hd_cpu_phase {
    HD_CPU_OFF,     /* the first step starts a period */
    HD_CPU_COUNTS,  /* a period without samples */
    HD_CPU_SAMPLED, /* the period after one that was over the limit */
    HD_CPU_RESTS,   /* after a report */
};

enum hd_cpu_word {
    HD_CPU_NOTHING,
    HD_CPU_START,  /* a period was over the limit: find the thread */
    HD_CPU_SAMPLE, /* take its stack */
    HD_CPU_REPORT, /* the next period was over the limit too */
    HD_CPU_DROP,   /* the next period was below the limit */
};

struct hd_cpu_use {
    uint8_t phase;             /* enum hd_cpu_phase */
    uint64_t since_ns, cpu_ns; /* the period's start, and the process's CPU time then */
    uint64_t next_ns;          /* when the next step is due; 0: at once */
};

/* One step, due at next_ns. `cpu_ns`: the process's CPU time so far; `sample_ns`: distance of samples. */
enum hd_cpu_word hd_cpu_use_step(struct hd_cpu_use *s, uint64_t now_ns, uint64_t cpu_ns, uint64_t period_ns,
                                 uint64_t sample_ns);

#endif
