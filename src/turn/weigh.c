/* SPDX-License-Identifier: MIT
 *
 * A sample sees one instant. The scheduling statistics say what the thread did until the next one. Worker.
 */
#include "turn/weigh.h"

static uint64_t growth(uint64_t from, uint64_t to) {
    return to > from ? to - from : 0;
}

/* A thread found running may have left its CPU and been blocked: for the time in which it neither ran nor
 * waited for a CPU. Statistics that cover only the end of the span are taken to be true of the start, too. A
 * thread that waits for a CPU at the end has a delay that the statistics do not have yet. */
static void move_blocked_time(struct hd_turn_samples *s, struct hd_probe *evidence,
                              const struct hd_weigh_span *span) {
    bool left_cpu = span->to->slices != span->from->slices || hd_weigh_is_blocked(span->end_state);
    uint64_t known_ns = evidence->cpu_ns + evidence->delay_ns;
    if (hd_weigh_is_running(evidence->state) && left_cpu && span->end_state != HD_RUN_RUNNABLE &&
        known_ns < span->covered_ns) {
        evidence->for_ns = (uint64_t)((double)known_ns / (double)span->covered_ns * (double)span->ns);
        s->between_ns += span->ns - evidence->for_ns;
        s->sums.total_ns += span->ns - evidence->for_ns;
    }
}

void hd_weigh_evidence(struct hd_turn_samples *s, struct hd_probe *evidence,
                       const struct hd_weigh_span *span) {
    bool known =
        span->from != NULL && span->to != NULL && hd_sched_known(span->from) && hd_sched_known(span->to);
    evidence->for_ns = span->ns;
    evidence->cpu_ns = known ? growth(span->from->cpu_ns, span->to->cpu_ns) : 0;
    evidence->delay_ns = known ? growth(span->from->delay_ns, span->to->delay_ns) : 0;
    if (known) {
        move_blocked_time(s, evidence, span);
    }
    hd_cause_add(&s->sums, evidence);
}

void hd_weigh_between(struct hd_turn_samples *s) {
    if (s->between_ns > 0 && s->blocked.for_ns > 0) {
        struct hd_probe evidence = s->blocked;
        evidence.for_ns = s->between_ns;
        evidence.cpu_ns = evidence.delay_ns = 0;
        s->sums.total_ns -= s->between_ns; /* hd_cause_add adds it again */
        hd_cause_add(&s->sums, &evidence);
        s->between_ns = 0;
    }
}
