/* SPDX-License-Identifier: MIT */
#include "monitor/look.h"

#include "monitor/actions.h"
#include "monitor/lateness.h"
#include "monitor/limits.h"
#include "monitor/seen.h"

/* Each maximum is sent for one turn. A sum is sent as it is: the worker takes its growth. */
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

/* A turn was a hang, and has started and ended since the last look. It has no samples, and is only counted.
 * It counts where we waited for a CPU meanwhile. Else the process was stopped, for an unknown part of it. */
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

/* Lets src/detect make a step for what this look has seen, and does the actions that it answers with. */
static void step(struct hd_monitor *m, struct hd_look_state *s, const struct hd_look *look,
                 const struct hd_limits *limits, hangdog_state state) {
    bool was_idle = s->turn.phase == HD_TURN_IDLE; /* a pause lies between two looks at the same turn */
    unsigned actions = hd_turn_state_step(&s->turn, look, limits);
    if (s->turn.phase != HD_TURN_IDLE && (was_idle || s->first.start_ticks != s->turn.start_ticks)) {
        start_turn(s, m->now.late_ns);
    }
    if ((actions & HD_ACT_TRACK) != 0 && !hd_actions_track(s, look->start_ticks)) {
        s->turn.phase = HD_TURN_IDLE; /* the turn ended before it was tracked: no message was sent yet */
        return;
    }
    s->program_state = s->turn.phase != HD_TURN_IDLE ? state : s->program_state;
    hd_actions_do(m, s, look, actions);
}

/* Stores the duration of an open hang where it outlives the process. These places are the record, and the
 * fatal marker of a program that links the library. Each is one store: the page of a file stays when the
 * process dies. */
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
    _Atomic uint64_t *note = atomic_load_explicit(&w->worker.fatal_marker, memory_order_acquire);
    if (note != NULL &&
        atomic_load_explicit(&w->worker.fatal_marker_start_ns, memory_order_relaxed) == s->turn.start_ns) {
        atomic_store_explicit(note, duration_ns, memory_order_relaxed);
    }
}

/* A turn that ended and the next one, which runs, are two steps of one look. */
bool hd_look_at(struct hd_monitor *m, struct hd_look_state *s) {
    struct hd_look look;
    struct hd_limits limits;
    uint64_t excluded_ns = 0;
    bool first = true;
    s->first.late_max_ns = m->now.late_ns > s->first.late_max_ns ? m->now.late_ns : s->first.late_max_ns;
    do {
        hangdog_state state = hd_limits_state(m, s); /* of this turn: hd_seen_fill may end the launch */
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
        look.excluded_ns = excluded_ns; /* also from the next turn, as far as it has lasted */
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
    s->turn.frame_ns = 0; /* no frame ends the turn: the program leaves */
    struct hd_loop_thread before = s->thread;
    hd_lateness_read_thread(s);   /* the thread has run since the last look */
    if (!s->thread.sched_known) { /* the thread has ended */
        s->thread = before;
    }
    hd_actions_do(m, s, &look, hd_turn_state_step(&s->turn, &look, &limits));
}
