/* SPDX-License-Identifier: MIT
 *
 * The seeded plan of the workload, and the judgement of what came of it. Pure.
 */
#include <string.h>

#include "bench_truth.h"

#define PLAN_SLACK_NS \
    (40 * BENCH_MS) /* a plan leads by so much more: what is run is never quite what was planned */

static const char *const names[TRUTH_KINDS] = {"cpu", "sleep", "lock", "disk", "network", "starved"};

const char *truth_kind_name(enum truth_kind kind) {
    return names[kind];
}

uint64_t truth_random(struct truth_random *r) { /* splitmix64 */
    uint64_t z = r->state += 0x9e3779b97f4a7c15ULL;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
    return z ^ z >> 31;
}

uint64_t truth_between(struct truth_random *r, uint64_t low, uint64_t high) {
    return low + truth_random(r) % (high - low + 1);
}

static bool chance(struct truth_random *r, unsigned percent) {
    return truth_between(r, 1, 100) <= percent;
}

/* ---- what must not be reported -------------------------------------------------------------- */

void truth_plan_quiet(struct truth_random *r, struct truth_quiet *out) {
    memset(out, 0, sizeof *out);
    out->idle_ns = chance(r, 5) ? truth_between(r, 700 * BENCH_MS, 1500 * BENCH_MS)
                                : truth_between(r, 20 * BENCH_MS, 150 * BENCH_MS);
    uint64_t low = 50 * BENCH_MS, high = 400 * BENCH_MS;
    if (chance(r, 10)) { /* more than the threshold together, and no turn of them */
        out->without_waiting = true;
        out->turns = 16;
        low = 20 * BENCH_MS;
        high = 60 * BENCH_MS;
    } else if (chance(r, 35)) {
        out->turns = (unsigned)truth_between(r, 1, 2);
    }
    for (unsigned i = 0; i < out->turns; i++) {
        out->turn_ns[i] = truth_between(r, low, high);
        out->kind[i] = (uint8_t)truth_between(r, 0, TRUTH_WORKS - 1);
    }
}

/* ---- stalls --------------------------------------------------------------------------------- */

/* Segment 0 gets 45 to 90 % of the time; the others what they happen to get of the rest. */
static void plan_times(struct truth_random *r, struct truth_stall *s) {
    uint64_t duration_ns = truth_between(r, 700 * BENCH_MS, 2500 * BENCH_MS);
    uint64_t share = truth_between(r, 450, 900);
    uint64_t rest_ns = duration_ns - duration_ns * share / 1000;
    uint64_t weight[TRUTH_SEGMENTS_MAX], sum = 0;
    for (unsigned i = 1; i < s->count; i++) {
        sum += weight[i] = truth_between(r, 5, 100);
    }
    s->segment[0].wanted_ns = duration_ns * share / 1000;
    for (unsigned i = 1; i < s->count; i++) {
        s->segment[i].wanted_ns = rest_ns * weight[i] / sum;
    }
}

static unsigned second(const struct truth_stall *s) {
    unsigned best = 1;
    for (unsigned i = 2; i < s->count; i++) {
        best = s->segment[i].wanted_ns > s->segment[best].wanted_ns ? i : best;
    }
    return best;
}

/* In a stall of two callers the two hottest functions block in the same callee; in the others they do not. */
static void plan_functions(struct truth_random *r, struct truth_stall *s) {
    unsigned next = second(s);
    for (unsigned i = 0; i < s->count; i++) {
        struct truth_segment *g = &s->segment[i];
        bool first_of_two = i == 0 && s->two_callers;
        do {
            g->kind = (uint8_t)truth_between(r, first_of_two ? TRUTH_SLEEP : TRUTH_CPU, TRUTH_WORKS - 1);
        } while (i == next && !s->two_callers && g->kind == s->segment[0].kind);
        if (i == next && s->two_callers) {
            g->kind = s->segment[0].kind;
        }
        bool taken = true;
        while (taken) {
            g->function = (uint8_t)truth_between(r, 0, TRUTH_FUNCTIONS - 1);
            taken = false;
            for (unsigned k = 0; k < i; k++) {
                taken = taken || (s->segment[k].kind == g->kind && s->segment[k].function == g->function);
            }
        }
    }
}

static void plan_depths(struct truth_random *r, struct truth_stall *s) {
    uint8_t least = TRUTH_DEPTH_MAX;
    for (unsigned i = 0; i < s->count; i++) {
        uint8_t depth = (uint8_t)truth_between(r, TRUTH_DEPTH_MIN, TRUTH_DEPTH_MAX);
        s->segment[i].depth = depth;
        least = depth < least ? depth : least;
    }
    s->descent = (uint8_t)truth_between(r, 1, (uint64_t)least - 2);
}

static void shuffle(struct truth_random *r, struct truth_stall *s) {
    for (unsigned i = s->count; i > 1; i--) {
        unsigned k = (unsigned)truth_between(r, 0, i - 1);
        struct truth_segment g = s->segment[i - 1];
        s->segment[i - 1] = s->segment[k];
        s->segment[k] = g;
    }
}

static bool ahead(const uint64_t *ns, unsigned count, unsigned best, uint64_t by_ns) {
    for (unsigned i = 0; i < count; i++) {
        if (i != best && ns[i] + by_ns > ns[best]) {
            return false;
        }
    }
    return true;
}

static bool plan_is_clear(const struct truth_stall *s) {
    uint64_t function_ns[TRUTH_SEGMENTS_MAX] = {0}, kind_ns[TRUTH_KINDS] = {0};
    for (unsigned i = 0; i < s->count; i++) {
        function_ns[i] = s->segment[i].wanted_ns;
        kind_ns[s->segment[i].kind] += s->segment[i].wanted_ns;
    }
    unsigned cause = 0;
    for (unsigned k = 1; k < TRUTH_KINDS; k++) {
        cause = kind_ns[k] > kind_ns[cause] ? k : cause;
    }
    return ahead(function_ns, s->count, 0, TRUTH_LEAD_NS + PLAN_SLACK_NS) &&
           ahead(kind_ns, TRUTH_KINDS, cause, TRUTH_LEAD_NS + PLAN_SLACK_NS);
}

void truth_plan_stall(struct truth_random *r, unsigned index, struct truth_stall *out) {
    do {
        memset(out, 0, sizeof *out);
        out->index = index;
        out->two_callers = index % 4 == 0;
        out->count = (unsigned)truth_between(r, TRUTH_SEGMENTS_MIN, TRUTH_SEGMENTS_MAX);
        plan_times(r, out);
        plan_functions(r, out);
    } while (!plan_is_clear(out));
    plan_depths(r, out);
    shuffle(r, out);
}

/* ---- judgement ------------------------------------------------------------------------------ */

void truth_judge(struct truth_stall *s) {
    uint64_t function_ns[TRUTH_SEGMENTS_MAX] = {0}, kind_ns[TRUTH_KINDS] = {0}, sum_ns = 0;
    s->hot = 0;
    s->cause = TRUTH_CPU;
    for (unsigned i = 0; i < s->count; i++) {
        const struct truth_segment *g = &s->segment[i];
        function_ns[i] = g->to_ns - g->from_ns;
        sum_ns += function_ns[i];
        uint64_t ran_ns = g->cpu_ns + g->delay_ns;
        kind_ns[TRUTH_CPU] += g->cpu_ns;
        kind_ns[TRUTH_STARVED] += g->delay_ns;
        kind_ns[g->kind] += function_ns[i] > ran_ns ? function_ns[i] - ran_ns : 0;
        s->hot = function_ns[i] > function_ns[s->hot] ? i : s->hot;
    }
    for (unsigned k = 1; k < TRUTH_KINDS; k++) {
        s->cause = kind_ns[k] > kind_ns[s->cause] ? (enum truth_kind)k : s->cause;
    }
    uint64_t hot_ns = function_ns[s->hot];
    s->clear = hot_ns * 100 >= sum_ns * 45 && ahead(function_ns, s->count, s->hot, TRUTH_LEAD_NS) &&
               ahead(kind_ns, TRUTH_KINDS, s->cause, TRUTH_LEAD_NS);
}
