/* SPDX-License-Identifier: MIT
 *
 * Counters of another process may go back, or be garbage: a difference below zero counts as none. Pure.
 */
#include "cli/live/loop_figures.h"

/* Turns lie evenly in their bucket, as far as anybody knows. */
uint64_t loop_quantile(const uint64_t turns[HD_TURN_HISTOGRAM], double share) {
    double sum = 0, below = 0;
    for (unsigned b = 0; b < HD_TURN_HISTOGRAM; b++) {
        sum += (double)turns[b];
    }
    for (unsigned b = 0; b < HD_TURN_HISTOGRAM; b++) {
        double in = (double)turns[b], floor = (double)(1ULL << b);
        if (in > 0 && below + in >= share * sum) {
            double ns = floor + floor * (share * sum - below) / in;
            return ns < (double)INT64_MAX ? (uint64_t)ns : INT64_MAX;
        }
        below += in;
    }
    return 0;
}

void loop_history_add(struct loop_history *p, const struct run_loop *l, uint64_t at_ns) {
    if (p->count != 0 && (p->slot != l->slot || p->generation != l->generation)) {
        p->count = 0;
    }
    p->slot = l->slot;
    p->generation = l->generation;
    p->look[p->count++ % LOOP_SPAN_LOOKS] = (struct loop_look){.at_ns = at_ns, .loop = *l};
}

static uint64_t grew(uint64_t from, uint64_t to) {
    return to > from ? to - from : 0;
}

/* By how much the counters grew. */
static uint64_t turns_between(const struct run_loop *from, const struct run_loop *to,
                              uint64_t out[HD_TURN_HISTOGRAM]) {
    uint64_t sum = 0;
    for (unsigned b = 0; b < HD_TURN_HISTOGRAM; b++) {
        out[b] = grew(from->turns[b], to->turns[b]);
        sum += out[b];
    }
    return sum;
}

static void since_before(const struct loop_history *p, const struct loop_look *now,
                         struct loop_figures *out) {
    const struct loop_look *before = &p->look[(p->count - 2) % LOOP_SPAN_LOOKS];
    uint64_t turns[HD_TURN_HISTOGRAM], span_ns = grew(before->at_ns, now->at_ns);
    if (span_ns == 0) {
        return;
    }
    double span_s = (double)span_ns / 1e9,
           percent = 100.0 * (double)grew(before->loop.busy_ns, now->loop.busy_ns) / (double)span_ns;
    out->busy_percent = percent < 100 ? percent : 100;
    out->turns_per_s = (double)turns_between(&before->loop, &now->loop, turns) / span_s;
    if (now->loop.frames != 0) {
        out->frames_per_s = (double)grew(before->loop.frames, now->loop.frames) / span_s;
    }
}

void loop_figures(const struct loop_history *p, struct loop_figures *out) {
    *out = (struct loop_figures){.busy_percent = -1, .turns_per_s = -1, .frames_per_s = -1};
    if (p->count == 0) {
        return;
    }
    const struct loop_look *now = &p->look[(p->count - 1) % LOOP_SPAN_LOOKS];
    const struct loop_look *oldest = &p->look[p->count <= LOOP_SPAN_LOOKS ? 0 : p->count % LOOP_SPAN_LOOKS];
    uint64_t turns[HD_TURN_HISTOGRAM];
    const uint64_t *of = turns_between(&oldest->loop, &now->loop, turns) != 0 ? turns : now->loop.turns;
    out->median_ns = loop_quantile(of, 0.5);
    out->p99_ns = loop_quantile(of, 0.99);
    out->worst_ns = loop_quantile(now->loop.turns, 1);
    if (now->loop.running_ns > out->worst_ns) {
        out->worst_ns = now->loop.running_ns;
    }
    if (p->count > 1) {
        since_before(p, now, out);
    }
}

bool loop_figures_limit(struct loop_figures *f, uint64_t longest_hang_ns) {
    if (longest_hang_ns < f->worst_ns / 2 || longest_hang_ns >= f->worst_ns) {
        return false;
    }
    f->worst_ns = longest_hang_ns;
    f->p99_ns = f->p99_ns < longest_hang_ns ? f->p99_ns : longest_hang_ns;
    f->median_ns = f->median_ns < longest_hang_ns ? f->median_ns : longest_hang_ns;
    return true;
}
