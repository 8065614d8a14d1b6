/* SPDX-License-Identifier: MIT */
#include "monitor/look.h"

#include "monitor/actions.h"
#include "monitor/lateness.h"
#include "monitor/limits.h"
#include "monitor/seen.h"

/* Starts the two maxima of a new turn, because the monitor's messages to the worker carry the maxima of one
 * turn. The longest pause starts at zero, and the greatest lateness at this look's lateness. Sums of costs
 * are not reset, because the worker subtracts the values that they had at the turn's start. */
static void start_turn(struct hd_look_state *s, uint64_t late_ns) {
    uint64_t *pause_max_ns = &s->target.cost.pause_max_ns;
    s->sums.pause_max_ns = *pause_max_ns > s->sums.pause_max_ns ? *pause_max_ns : s->sums.pause_max_ns;
    *pause_max_ns = 0;
    s->first = (struct hd_first_seen){.start_ticks = s->turn.start_ticks,
                                      .at_ns = hd_os_now_ns(),
                                      .sched = s->thread.sched,
                                      .sched_known = s->thread.sched_known,
                                      .late_max_ns = late_ns};
}

/* Counts a hang that has started and ended since the last look, and so has no samples. The hang counts
 * only if the monitor waited for a CPU for most of the hang's time. Otherwise the process may have been
 * stopped in the turn, so the turn may be no hang. */
static void count_missed(struct hd_monitor *m, const struct hd_look_state *s, const struct hd_look *look,
                         uint64_t threshold_ns) {
    uint64_t took_ns = look->ended_ns - look->start_ns;
    bool certain = !m->run->settings.deferred ||
                   atomic_load_explicit(&s->watch->loop.found.certain, memory_order_relaxed);
    if (certain && !m->pause.lasts && look->start_ns > m->looked_ns &&
        look->ended_ns >= look->start_ns + threshold_ns &&
        m->now.own_delay_ns + hd_lateness_own_delay(m) > took_ns / 2) {
        hd_record_add_unreported(m->run->record, took_ns);
    }
}

/* Passes what this look has found to src/detect, and does the actions that src/detect returns. */
static void step(struct hd_monitor *m, struct hd_look_state *s, const struct hd_look *look,
                 const struct hd_limits *limits, hangdog_state state) {
    /* true also after a pause of watching, when the same turn starts again */
    bool was_idle = s->turn.phase == HD_TURN_IDLE;
    unsigned actions = hd_turn_state_step(&s->turn, look, limits);
    if (s->turn.phase != HD_TURN_IDLE && (was_idle || s->first.start_ticks != s->turn.start_ticks)) {
        start_turn(s, m->now.late_ns);
    }
    if ((actions & HD_ACT_TRACK) != 0 && !hd_actions_track(s, look->start_ticks)) {
        /* forgets the turn, because it ended before it was tracked, and no message about it was sent */
        s->turn.phase = HD_TURN_IDLE;
        return;
    }
    s->program_state = s->turn.phase != HD_TURN_IDLE ? state : s->program_state;
    hd_actions_do(m, s, look, actions);
}

/* Stores the duration of an open hang where it outlives the process: in the record, and in the library's
 * fatal marker. Each store is one write to a mapped file, whose page stays when the process dies. */
static void publish_duration(struct hd_monitor *m, const struct hd_look_state *s, uint64_t now_ns) {
    const struct hd_watch *w = s->watch;
    struct hd_record *r = m->run->record;
    uint64_t duration_ns = hd_turn_state_age(&s->turn, now_ns);
    if (r != NULL && atomic_load_explicit(&m->run->channel.open_loop, memory_order_relaxed) == w->index &&
        atomic_load_explicit(&m->run->channel.open_start_ns, memory_order_relaxed) == s->turn.start_ns) {
        atomic_store_explicit(&r->open.since_ns, s->turn.start_ns + s->turn.excluded_ns,
                              memory_order_relaxed);
        atomic_store_explicit(&r->open.duration_ns, duration_ns, memory_order_relaxed);
        atomic_store_explicit(&r->status.alive_ns, now_ns, memory_order_relaxed);
    }
    _Atomic uint64_t *marker = atomic_load_explicit(&w->worker.fatal_marker, memory_order_acquire);
    if (marker != NULL &&
        atomic_load_explicit(&w->worker.fatal_marker_start_ns, memory_order_relaxed) == s->turn.start_ns) {
        atomic_store_explicit(marker, duration_ns, memory_order_relaxed);
    }
}

/* If a turn has ended and the next one is running, one look calls step() twice: once for each turn. */
bool hd_look_at(struct hd_monitor *m, struct hd_look_state *s) {
    struct hd_look look;
    struct hd_limits limits;
    uint64_t excluded_ns = 0;
    bool first = true;
    s->first.late_max_ns = m->now.late_ns > s->first.late_max_ns ? m->now.late_ns : s->first.late_max_ns;
    do {
        hangdog_state state = hd_limits_state(m, s); /* read first, because hd_seen_fill may end the launch */
        limits = hd_limits_of(m, s, state);
        hd_seen_fill(m, s, m->now.now_ns, &look);
        if (!look.running && s->turn.phase == HD_TURN_IDLE) {
            if (first) {
                count_missed(m, s, &look, limits.threshold_ns);
            }
            return false;
        }
        if (first) {
            struct hd_loop_thread before = s->thread;
            excluded_ns = hd_lateness_excluded(m, s);
            look.moved =
                before.blocked && before.sched_known && s->thread.sched.slices != before.sched.slices;
        }
        first = false;
        /* The look may find two turns, an ended one and the next one. The time `excluded_ns` is subtracted
         * from both turns, but from the next one at most that turn's own age. */
        look.excluded_ns = excluded_ns;
        step(m, s, &look, &limits, state);
    } while (s->turn.phase == HD_TURN_IDLE && look.running);
    if (s->turn.phase == HD_TURN_HANGING) {
        publish_duration(m, s, m->now.now_ns);
    }
    s->next_ns = hd_turn_state_next_ns(&s->turn, hd_os_now_ns(), m->look_ns, &limits);
    return s->turn.phase != HD_TURN_IDLE;
}

void hd_look_last(struct hd_monitor *m, struct hd_look_state *s) {
    if (s->turn.phase != HD_TURN_HANGING && s->turn.phase != HD_TURN_TRACKED) {
        return;
    }
    struct hd_limits limits = hd_limits_of(m, s, hd_limits_state(m, s));
    struct hd_look look;
    hd_seen_fill(m, s, hd_os_now_ns(), &look);
    look.running = false;
    /* zeroed, so that a turn that ends with its watch is not reported as a long display frame */
    s->turn.frame_ns = 0;
    struct hd_loop_thread before = s->thread;
    /* reads the statistics again, because the thread may have run since the last look */
    hd_lateness_read_thread(s);
    if (!s->thread.sched_known) {
        s->thread = before; /* the thread has ended, so its last known scheduling statistics count */
    }
    hd_actions_do(m, s, &look, hd_turn_state_step(&s->turn, &look, &limits));
}
