/* SPDX-License-Identifier: MIT */
#include "agent/budget.h"

#define NS_PER_S 1000000000
#define CREDIT_S 3600

static int64_t most_credit(const struct budget *b) {
    return (int64_t)b->ns_per_s * CREDIT_S;
}

void budget_start(struct budget *b, double cpu_percent, uint64_t bytes, uint64_t at_ns, uint64_t cpu_ns) {
    *b = (struct budget){.ns_per_s = (uint64_t)(cpu_percent / 100 * NS_PER_S),
                         .bytes = bytes,
                         .at_ns = at_ns,
                         .cpu_ns = cpu_ns};
    b->credit_ns = most_credit(b);
}

enum budget_verdict budget_check(struct budget *b, uint64_t at_ns, uint64_t cpu_ns, uint64_t bytes) {
    uint64_t passed_ms = (at_ns - b->at_ns) / (NS_PER_S / 1000);
    passed_ms = passed_ms < CREDIT_S * 1000 ? passed_ms : CREDIT_S * 1000; /* a machine that slept */
    b->credit_ns += (int64_t)(b->ns_per_s * passed_ms / 1000) - (int64_t)(cpu_ns - b->cpu_ns);
    b->credit_ns = b->credit_ns < most_credit(b) ? b->credit_ns : most_credit(b);
    b->at_ns = at_ns;
    b->cpu_ns = cpu_ns;
    if (b->credit_ns < 0 || bytes > b->bytes) {
        return BUDGET_LESS;
    }
    return b->credit_ns > most_credit(b) / 2 && bytes < b->bytes / 8 * 7 ? BUDGET_MORE : BUDGET_KEEP;
}
