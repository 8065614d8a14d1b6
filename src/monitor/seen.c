/* SPDX-License-Identifier: MIT */
#include "monitor/seen.h"

static uint64_t marked_ns(const struct hd_monitor *m, const struct hd_loop_view *view) {
    return hd_monitor_ticks_to_ns(m, view->word >> HD_ACTIVITY_BITS);
}

/* Returns when the last ended turn of an idle loop started, in ticks. */
static uint64_t last_turn(const struct hd_loop *l, const struct hd_loop_view *idle) {
    return (idle->word >> HD_ACTIVITY_BITS) - atomic_load_explicit(&l->pending_ticks, memory_order_relaxed);
}

/* Returns whether the thread is in a wait that was recognised as the loop's own only after the wait's
 * start. If so, sets *since to the wait's start, in ticks. */
static bool is_late_wait(const struct hd_loop *l, uint64_t *since) {
    const _Atomic uint8_t *waiting = atomic_load_explicit(&l->waiting, memory_order_acquire);
    if (waiting == NULL || atomic_load_explicit(waiting, memory_order_acquire) != HD_WAIT_IDLE) {
        return false;
    }
    *since = atomic_load_explicit(&l->waiting_since, memory_order_acquire);
    return atomic_load_explicit(&l->waiting, memory_order_relaxed) == waiting;
}

/* Returns whether this turn is no hang, however long it is. One reason: the program has given its terminal
 * to a child process, which the user now uses. The other reason: another thread serves the loop meanwhile. */
static bool is_ignored(const struct hd_loop *l, const struct hd_loop_view *view) {
    uint64_t ignored = atomic_load_explicit(&l->found.ignored_turn, memory_order_relaxed);
    return ignored != 0 && ignored == view->turn_ticks;
}

static bool is_expected(const struct hd_loop *l) {
    return atomic_load_explicit(&l->expected, memory_order_relaxed) != 0;
}

/* Returns whether the loop is idle, or its turn is not to be watched at this moment. */
static bool counts_as_idle(const struct hd_monitor *m, const struct hd_loop *l,
                           const struct hd_loop_view *view) {
    return !view->running || is_expected(l) ||
           atomic_load_explicit(&m->run->channel.program.paused, memory_order_relaxed) != 0 ||
           atomic_load_explicit(&l->found.lost, memory_order_relaxed) || is_ignored(l, view);
}

/* Returns whether the loop that `view` shows has no expected block. If the loop has moved since, the answer
 * is false: `expected` may then be that of another state than the view's. */
static bool is_unexpected(const struct hd_loop *l, const struct hd_loop_view *view) {
    return !is_expected(l) && atomic_load_explicit(&l->word, memory_order_acquire) == view->word;
}

static void end_launch(struct hd_monitor *m, struct hd_look_state *s, uint64_t idle_ns) {
    uint64_t none = 0;
    s->launched = true;
    atomic_compare_exchange_strong(&m->run->record->turns.launch_ns, &none,
                                   idle_ns - m->run->record->options.started_ns);
}

static void set_end(struct hd_look *look, uint64_t ended_ns) {
    look->ended_known = true;
    look->ended_ns = ended_ns;
}

/* If the recogniser found only after a wait's end that the wait was the loop's own, applies this finding.
 * The running turn started at the wait's end, and the turn before ended at the wait's start. */
static void apply_ended_wait(const struct hd_monitor *m, struct hd_look_state *s, struct hd_look *look) {
    const struct hd_loop *l = &s->watch->loop;
    struct hd_findings *f = &s->findings;
    uint64_t to = atomic_load_explicit(&l->found.waited_to, memory_order_acquire);
    if (to == f->waited_to) {
        return;
    }
    f->waited_to = to;
    uint64_t to_ns = hd_monitor_ticks_to_ns(m, to);
    uint64_t from_ns =
        hd_monitor_ticks_to_ns(m, atomic_load_explicit(&l->found.waited_from, memory_order_relaxed));
    f->start_min_ns = to_ns > f->start_min_ns ? to_ns : f->start_min_ns;
    if (s->turn.phase != HD_TURN_IDLE && from_ns >= s->turn.start_ns && !look->ended_known) {
        set_end(look, from_ns);
    }
}

/* Applies what the recogniser has found since the last look: for example, the launch has ended, or the
 * thread has another loop than before. */
static void apply_findings(struct hd_monitor *m, struct hd_look_state *s, struct hd_look *look) {
    const struct hd_loop *l = &s->watch->loop;
    struct hd_findings *f = &s->findings;
    uint64_t launched = atomic_load_explicit(&l->found.launched, memory_order_acquire);
    uint32_t changes = atomic_load_explicit(&l->found.changes, memory_order_acquire);
    uint64_t resumed = atomic_load_explicit(&l->found.resumed, memory_order_acquire);
    bool ends_launch = !s->launched && launched != 0;
    if (ends_launch || changes != f->changes || resumed != f->resumed) {
        f->start_min_ns = resumed != 0 ? hd_monitor_ticks_to_ns(m, resumed) : look->now_ns;
        f->resumed = resumed;
        f->changes = changes;
        look->void_turn |= !ends_launch;
    }
    if (ends_launch) {
        set_end(look, hd_monitor_ticks_to_ns(m, launched));
        end_launch(m, s, look->ended_ns);
    }
    apply_ended_wait(m, s, look);
}

/* If the turn of the last look has ended, finds out when. */
static void find_end(const struct hd_monitor *m, struct hd_look_state *s, const struct hd_loop_view *view,
                     struct hd_look *look) {
    const struct hd_loop *l = &s->watch->loop;
    bool tracked = s->tracked_ticks != 0;
    if (tracked && (atomic_load_explicit(&l->flags, memory_order_seq_cst) & HD_FLAG_TRACKED) == 0) {
        uint64_t end_ns =
            hd_monitor_ticks_to_ns(m, atomic_load_explicit(&l->tracked_end, memory_order_relaxed));
        set_end(look, look->ended_known && look->ended_ns < end_ns ? look->ended_ns : end_ns);
        s->tracked_ticks = 0;
    } else if (tracked && !view->running) {
        /* the turn ended just when HD_FLAG_TRACKED was set, so that only the idle mark has the end */
        set_end(look, marked_ns(m, view));
    } else if (s->turn.phase == HD_TURN_RUNNING && !view->running &&
               look->start_ticks == s->turn.start_ticks) {
        /* the turn ended before a look could track it; look->ended_ns has its end already, from the idle
         * mark */
        look->ended_known = true;
    }
}

void hd_seen_fill(struct hd_monitor *m, struct hd_look_state *s, uint64_t now_ns, struct hd_look *look) {
    struct hd_loop *l = &s->watch->loop;
    struct hd_loop_view view;
    /* initialised only because gcc at -O2 warns: gcc does not see that each read comes after a store */
    uint64_t since = 0;
    hd_loop_view(l, &view);
    bool late_wait = is_late_wait(l, &since);
    uint64_t start_ticks = view.running ? view.turn_ticks : last_turn(l, &view);
    *look = (struct hd_look){.now_ns = now_ns,
                             .running = !late_wait && !counts_as_idle(m, l, &view),
                             .start_ticks = start_ticks,
                             .start_ns = hd_monitor_ticks_to_ns(m, start_ticks),
                             .void_turn = is_ignored(l, &view),
                             .ended_ns = view.running ? 0 : marked_ns(m, &view),
                             .changed_ns =
                                 atomic_load_explicit(&s->watch->worker.changed_ns, memory_order_relaxed)};
    apply_findings(m, s, look);
    look->start_ns = look->start_ns > m->pause.ended_ns ? look->start_ns : m->pause.ended_ns;
    look->start_ns = look->start_ns > s->findings.start_min_ns ? look->start_ns : s->findings.start_min_ns;
    /* A call that the program expects to block does not end the launch, because such a call is no wait of
     * the loop. */
    if (!s->launched && (!view.running || view.activity == HANGDOG_AFTER_WAITING) &&
        is_unexpected(l, &view)) {
        end_launch(m, s, marked_ns(m, &view));
    }
    find_end(m, s, &view, look);
    if (late_wait && view.running && !look->ended_known) {
        /* the recogniser has now found that this wait is the loop's own, so the turn ended at the wait's
         * start */
        set_end(look, hd_monitor_ticks_to_ns(m, since));
    }
}
