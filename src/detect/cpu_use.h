/* SPDX-License-Identifier: MIT
 *
 * Finds out when a process uses too much of a CPU. A period above the limit is followed by a period with
 * samples. If that one is above the limit too, a report follows, and then a long rest. Pure: the clocks are
 * arguments. On the monitor thread; no allocation, no calls.
 */
#ifndef HD_CPU_USE_H
#define HD_CPU_USE_H

#include "base/types.h"

#define HD_CPU_LIMIT 80        /* percent of one CPU */
#define HD_CPU_REST_PERIODS 20 /* the number of periods between two reports: a minute if a period is 3 s */

enum hd_cpu_phase {
    HD_CPU_OFF,     /* before the first step, which starts a period */
    HD_CPU_COUNTS,  /* in a period without samples */
    HD_CPU_SAMPLED, /* in a period with samples, since the period before was above the limit */
    HD_CPU_RESTS,   /* in the rest after a report */
};

/* The caller's action after a step. */
enum hd_cpu_word {
    HD_CPU_NOTHING,
    HD_CPU_START,  /* find the thread that used most CPU time: a period was above the limit */
    HD_CPU_SAMPLE, /* take a sample of the thread that used most CPU time */
    HD_CPU_REPORT, /* write the report: the next period was above the limit too */
    HD_CPU_DROP,   /* drop the samples: the next period was below the limit */
};

struct hd_cpu_use {
    uint8_t phase;             /* enum hd_cpu_phase */
    uint64_t since_ns, cpu_ns; /* when the period started, and the process's CPU time at that start */
    uint64_t next_ns;          /* when the next step is due; 0: at once */
};

/* Does a step if `next_ns` is reached. `cpu_ns`: the process's CPU time so far. `period_ns`: the length of a
 * period. `sample_ns`: the time between samples. */
enum hd_cpu_word hd_cpu_use_step(struct hd_cpu_use *s, uint64_t now_ns, uint64_t cpu_ns, uint64_t period_ns,
                                 uint64_t sample_ns);

#endif
