/* SPDX-License-Identifier: MIT
 *
 * The agent's own CPU time and memory against their limits. Unused CPU time is credit, of an hour at most:
 * the start, which reads many files, may use it. Pure.
 */
#ifndef AGENT_BUDGET_H
#define AGENT_BUDGET_H

#include <stdint.h>

enum budget_verdict {
    BUDGET_LESS, /* watch less */
    BUDGET_KEEP,
    BUDGET_MORE, /* half of the credit is there: what was left out may be watched again */
};

struct budget {
    uint64_t ns_per_s; /* of CPU time */
    uint64_t bytes;
    int64_t credit_ns;
    uint64_t at_ns, cpu_ns; /* of the last check */
};

/* `at_ns`: CLOCK_MONOTONIC; `cpu_ns`: the CPU time that the process has used. */
void budget_start(struct budget *b, double cpu_percent, uint64_t bytes, uint64_t at_ns, uint64_t cpu_ns);
enum budget_verdict budget_check(struct budget *b, uint64_t at_ns, uint64_t cpu_ns, uint64_t bytes);

#endif
