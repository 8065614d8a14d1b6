/* SPDX-License-Identifier: MIT
 *
 * A sample counts for the time from its instant to the next sample. To charge a sample is to add that time
 * to the call tree, to the timeline and to the sums of time by cause. On the worker thread.
 */
#include "turn/samples.h"

#include <string.h>

#include "os/syscall_table.h"
#include "os/ticks.h"

/* ---- the sums of the cause -------------------------------------------------------------------- */

/* The time that one sample is charged for, and the thread's scheduling statistics in that time. */
struct span {
    uint64_t ns;
    /* the length of the span's last part, from the read of `from` to the read of `to` */
    uint64_t covered_ns;
    /* the thread's scheduling statistics at the start of the span's last part; NULL: not known */
    const struct hd_sched *from;
    /* the thread's scheduling statistics at the end of the span; NULL: not known */
    const struct hd_sched *to;
    uint8_t end_state; /* enum hd_run_state of the thread at the end of the span */
};

static bool is_running(uint8_t state) {
    return state == HD_RUN_RUNNING || state == HD_RUN_RUNNABLE;
}

static bool is_blocked(uint8_t state) {
    return state == HD_RUN_BLOCKED || state == HD_RUN_UNINTERRUPTIBLE;
}

static uint64_t growth(uint64_t from, uint64_t to) {
    return to > from ? to - from : 0;
}

/* A thread that the samples find running may have been blocked between two samples. The scheduling statistics
 * show for how long: in that time the thread neither ran nor waited for a CPU. Moves that time from the
 * sample to between_ns. If the statistics cover only a part of the span, the same share applies to the whole
 * span. If the thread waits for a CPU at the end, moves nothing, because the statistics do not count that
 * wait yet. */
static void move_blocked_time(struct hd_turn_samples *s, struct hd_probe *probe, const struct span *span) {
    bool left_cpu = span->to->slices != span->from->slices || is_blocked(span->end_state);
    uint64_t known_ns = probe->cpu_ns + probe->delay_ns;
    if (is_running(probe->state) && left_cpu && span->end_state != HD_RUN_RUNNABLE &&
        known_ns < span->covered_ns) {
        probe->for_ns = (uint64_t)((double)known_ns / (double)span->covered_ns * (double)span->ns);
        s->between_ns += span->ns - probe->for_ns;
        s->sums.total_ns += span->ns - probe->for_ns;
    }
}

/* True: the thread waits for the user, who types. */
static bool reads_terminal(const struct hd_probe *p) {
    const char *call = hd_syscall_name(p->syscall_nr);
    return hd_evidence_fd_kind(p) == HD_FD_TTY && call != NULL &&
           strncmp(call, "write", strlen("write")) != 0;
}

/* Sets the times of the probe from the span, and adds the probe to the sums by cause. */
static void weigh(struct hd_turn_samples *s, struct hd_probe *probe, const struct span *span) {
    bool known =
        span->from != NULL && span->to != NULL && hd_sched_known(span->from) && hd_sched_known(span->to);
    probe->for_ns = span->ns;
    probe->cpu_ns = known ? growth(span->from->cpu_ns, span->to->cpu_ns) : 0;
    probe->delay_ns = known ? growth(span->from->delay_ns, span->to->delay_ns) : 0;
    if (known) {
        move_blocked_time(s, probe, span);
    }
    s->typed_ns += reads_terminal(probe) ? probe->for_ns : 0;
    hd_cause_add(&s->sums, probe);
}

/* Charges between_ns, for which the thread was blocked between samples, to the cause that the newest blocked
 * sample shows (s->blocked). If no sample found the thread blocked, between_ns stays in the total of all
 * causes, and belongs to no cause. */
static void weigh_between(struct hd_turn_samples *s) {
    if (s->between_ns > 0 && s->blocked.for_ns > 0) {
        struct hd_probe probe = s->blocked;
        probe.for_ns = s->between_ns;
        probe.cpu_ns = probe.delay_ns = 0;
        /* between_ns is subtracted from the total here, because hd_cause_add adds it again */
        s->sums.total_ns -= s->between_ns;
        hd_cause_add(&s->sums, &probe);
        s->between_ns = 0;
    }
}

/* ---- one sample after the other --------------------------------------------------------------- */

static uint16_t entry_cut(uint32_t cut) {
    return cut < UINT16_MAX ? (uint16_t)cut : UINT16_MAX;
}

/* The process was stopped for longer than the newest sample's time: `ns` is the excess. So the stop began
 * before that sample. Takes `ns` back from the time of the sample before the newest one. */
static void discharge_stop(struct hd_turn_samples *s, uint64_t ns) {
    if (s->timeline.count > 1) {
        struct hd_timeline_entry *e = hd_timeline_at(&s->timeline, s->timeline.count - 2);
        ns = ns < e->for_ns ? ns : e->for_ns;
        hd_tree_discharge(&s->tree, e->leaf, ns);
        e->for_ns -= ns;
        hd_cause_limit(&s->sums, s->sums.total_ns > ns ? s->sums.total_ns - ns : 0);
    }
}

/* Decides whether the timeline shows the thread as running or as waiting for a CPU. The sample saw only one
 * instant; the scheduling statistics cover the sample's whole time. Over many entries, each of the two states
 * gets the share of time that it has in the statistics. So the timeline agrees with the sums by cause. */
static void show_starved(struct hd_turn_samples *s, struct hd_timeline_entry *e) {
    if (is_running(e->state)) {
        const struct hd_probe *known = &s->newest.probe;
        s->starved_ns += (int64_t)known->delay_ns;
        if (known->cpu_ns + known->delay_ns > 0) {
            e->state = 2 * s->starved_ns > (int64_t)e->for_ns ? HD_RUN_RUNNABLE : HD_RUN_RUNNING;
        }
        s->starved_ns -= e->state == HD_RUN_RUNNABLE ? (int64_t)e->for_ns : 0;
    }
}

/* Charges the newest sample for the time until `until_ns`, without the time for which the process was
 * stopped. `excluded_ns`: for how long the process was stopped since the turn's start. `sched`, `end_state`:
 * the thread's scheduling statistics and state at `until_ns`. */
static void charge_newest(struct hd_turn_samples *s, uint64_t until_ns, uint64_t excluded_ns,
                          const struct hd_sched *sched, uint8_t end_state) {
    struct hd_sample *newest = &s->newest;
    if (!newest->valid || until_ns <= newest->at_ns) {
        return;
    }
    uint64_t ns = until_ns - newest->at_ns;
    uint64_t stopped_ns = excluded_ns > s->stopped_ns ? excluded_ns - s->stopped_ns : 0;
    s->stopped_ns = excluded_ns;
    if (stopped_ns > ns) {
        discharge_stop(s, stopped_ns - ns);
    }
    ns = stopped_ns < ns ? ns - stopped_ns : 0;
    hd_tree_charge(&s->tree, newest->leaf, ns);
    weigh(s, &newest->probe,
          &(struct span){
              .ns = ns, .covered_ns = ns, .from = &newest->sched, .to = sched, .end_state = end_state});
    if (s->timeline.count > 0) {
        struct hd_timeline_entry *e = hd_timeline_at(&s->timeline, s->timeline.count - 1);
        e->for_ns = ns;
        show_starved(s, e);
    }
}

/* Charges the first sample also for the time before it, because its stack is the best guess for that time. If
 * the scheduling statistics at the monitor's first look at the turn are known, they show how long the thread
 * ran in that time. Leaves out the time before the loop was watched, which belongs to no function. */
static void charge_before_first(struct hd_turn *turn, uint64_t excluded_ns) {
    struct hd_turn_samples *s = &turn->samples;
    uint64_t from_ns = turn->times.start_ns + turn->times.unseen_ns;
    if (s->newest.at_ns <= from_ns) {
        return;
    }
    uint64_t ns = s->newest.at_ns - from_ns;
    ns = excluded_ns < ns ? ns - excluded_ns : 0;
    hd_tree_charge(&s->tree, s->newest.leaf, ns);
    s->before_ns = ns;
    struct hd_probe probe = s->newest.probe;
    uint64_t uncovered_ns = s->first.at_ns > from_ns ? s->first.at_ns - from_ns : 0;
    weigh(s, &probe,
          &(struct span){.ns = ns,
                         .covered_ns = ns > uncovered_ns ? ns - uncovered_ns : 0,
                         .from = s->first.known ? &s->first.sched : NULL,
                         .to = &s->newest.sched,
                         .end_state = s->newest.state});
}

static void add_to_timeline(struct hd_turn_samples *s) {
    const struct hd_sample *newest = &s->newest;
    *hd_timeline_at(&s->timeline, s->timeline.count++) =
        (struct hd_timeline_entry){.at_ns = newest->at_ns,
                                   .leaf = newest->leaf,
                                   .syscall_nr = newest->probe.syscall_nr,
                                   .state = newest->state,
                                   .way = newest->way,
                                   .stop = newest->stop,
                                   .cut = entry_cut(newest->cut)};
    s->taken++;
}

void hd_samples_add(struct hd_turn *turn, const struct hd_sample *sample, uint64_t excluded_ns) {
    struct hd_turn_samples *s = &turn->samples;
    bool is_first = !s->newest.valid;
    charge_newest(s, sample->at_ns, excluded_ns, &sample->sched, sample->state);
    s->newest = *sample;
    add_to_timeline(s);
    if (is_first) {
        charge_before_first(turn, excluded_ns);
        s->stopped_ns = excluded_ns;
    }
    if (is_blocked(sample->state)) {
        s->blocked = sample->probe;
        s->blocked.for_ns = 1;
        weigh_between(s);
    }
}

bool hd_samples_differ(struct hd_turn *turn, const struct hd_sample *sample) {
    struct hd_turn_samples *s = &turn->samples;
    if (sample->way == HD_WAY_KERNEL) {
        return false;
    }
    bool differs = !s->has_stack || s->known_leaf != sample->leaf;
    s->has_stack = true;
    s->known_leaf = sample->leaf;
    return differs;
}

/* ---- late answers ----------------------------------------------------------------------------- */

/* Gives the late answer's stack to sample `number` of the timeline. In the call tree, moves the time of
 * that sample to this stack. */
static void answer_entry(struct hd_turn_samples *s, uint32_t number, const struct hd_sample *answer) {
    struct hd_timeline_entry *e = hd_timeline_at(&s->timeline, number);
    uint64_t ns = e->for_ns + (number == 0 ? s->before_ns : 0);
    hd_tree_take_back(&s->tree, HD_TREE_NONE, ns);
    hd_tree_again(&s->tree, answer->leaf, e->at_ns);
    hd_tree_charge(&s->tree, answer->leaf, ns);
    e->leaf = answer->leaf;
    e->way = answer->way;
    e->stop = answer->stop;
    e->cut = entry_cut(answer->cut);
    if (number + 1 == s->timeline.count) {
        s->newest.leaf = answer->leaf;
        s->newest.way = answer->way;
        s->newest.stop = answer->stop;
        s->newest.cut = answer->cut;
        s->newest.depth = answer->depth;
    }
}

void hd_samples_answer(struct hd_turn *turn, const struct hd_sample *answer) {
    struct hd_turn_samples *s = &turn->samples;
    for (uint32_t i = hd_timeline_oldest(&s->timeline); i < s->timeline.count; i++) {
        const struct hd_timeline_entry *e = hd_timeline_at(&s->timeline, i);
        if (e->at_ns >= answer->at_ns && e->way == HD_WAY_KERNEL) {
            answer_entry(s, i, answer);
        }
    }
    /* takes back the one count of this stack that the caller's hd_turns_add_stack() has added */
    hd_tree_take_back(&s->tree, answer->leaf, 0);
}

/* ---- the end ---------------------------------------------------------------------------------- */

/* Removes the samples that were taken after the turn's end from the call tree and from the timeline. Moves
 * the remaining timeline entries to the start of the array, the oldest first. */
static void drop_later(struct hd_turn *turn, uint64_t end_ns, uint64_t excluded_ns) {
    struct hd_turn_samples *s = &turn->samples;
    struct hd_timeline_entry entry[HD_TIMELINE];
    uint32_t count = hd_timeline_size(&s->timeline), oldest = hd_timeline_oldest(&s->timeline);
    for (uint32_t i = 0; i < count; i++) {
        entry[i] = *hd_timeline_at(&s->timeline, oldest + i);
    }
    for (; count > 0 && entry[count - 1].at_ns >= end_ns; count--, s->taken--) {
        hd_tree_take_back(&s->tree, entry[count - 1].leaf, entry[count - 1].for_ns);
    }
    struct hd_timeline_entry *last = count > 0 ? &entry[count - 1] : NULL;
    if (last != NULL && last->at_ns + last->for_ns > end_ns) {
        uint64_t ns = end_ns - last->at_ns;
        hd_tree_discharge(&s->tree, last->leaf, last->for_ns - ns);
        last->for_ns = ns;
    }
    memcpy(s->timeline.entry, entry, count * sizeof entry[0]);
    s->timeline.count = count;
    uint64_t took_ns = end_ns > turn->times.start_ns ? end_ns - turn->times.start_ns : 0;
    hd_cause_limit(&s->sums, took_ns > excluded_ns ? took_ns - excluded_ns : 0);
}

void hd_samples_settle(struct hd_turn *turn, uint64_t at_ns, uint64_t excluded_ns,
                       const struct hd_sched *sched) {
    struct hd_turn_samples *s = &turn->samples;
    if (s->newest.valid && at_ns < s->newest.at_ns) {
        weigh_between(s);
        drop_later(turn, at_ns, excluded_ns);
        return;
    }
    charge_newest(s, at_ns, excluded_ns, sched, HD_RUN_RUNNING);
    weigh_between(s);
}

void hd_samples_limit(struct hd_turn *turn) {
    const struct hd_turn_times *times = &turn->times;
    struct hd_timeline *timeline = &turn->samples.timeline;
    uint64_t end_ns = times->start_ns + times->excluded_ns + times->duration_ns;
    uint64_t scale_32 = hd_tree_limit(&turn->samples.tree, times->duration_ns);
    for (uint32_t i = 0; i < hd_timeline_size(timeline); i++) {
        struct hd_timeline_entry *e = &timeline->entry[i];
        e->at_ns = e->at_ns < end_ns ? e->at_ns : end_ns;
        e->for_ns = hd_ticks_to_ns(e->for_ns, scale_32);
        e->for_ns = e->for_ns < end_ns - e->at_ns ? e->for_ns : end_ns - e->at_ns;
    }
}
