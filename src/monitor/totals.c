/* SPDX-License-Identifier: MIT
 *
 * Sums up the turns, times, display frames and costs of all loops, and stores the sums in the record. No
 * allocation.
 */
#include "monitor/totals.h"

/* the time between two stores of the sums; it is long, because each store touches much uncached memory */
#define PUBLISH_NS (1 * HD_NS_PER_S)
#define CHECK_NS (1 * HD_NS_PER_S) /* the time between two checks of the budget */
#define COUNT_TRIES 4
/* This many ticks take some minutes. If busy ticks shrink by more than this, the time-stamp counter has
 * restarted. If they shrink by less, the last call of sum_up counted a turn twice. */
#define TWICE_TICKS (1ULL << 40)

static void add_cost(struct hd_capture_cost *sum, const struct hd_capture_cost *c) {
    sum->samples += c->samples;
    sum->signals += c->signals;
    sum->interrupted_syscalls += c->interrupted_syscalls;
    sum->restarted_syscalls += c->restarted_syscalls;
    sum->pause_total_ns += c->pause_total_ns;
    sum->pause_max_ns = c->pause_max_ns > sum->pause_max_ns ? c->pause_max_ns : sum->pause_max_ns;
}

/* The numbers and the busy time of a loop's turns, including the last ended turn. (The sums in struct hd_loop
 * lack that turn.) */
struct counted {
    uint64_t turns[HD_TURN_HISTOGRAM], busy_ticks, until_ns;
};

static uint64_t ended_ticks(const struct hd_loop *l, uint64_t *last) {
    *last = atomic_load_explicit(&l->pending_ticks, memory_order_acquire);
    return atomic_load_explicit(&l->busy_ticks, memory_order_acquire) + *last;
}

/* Reads all counts of the loop as they are at one instant. If a mark comes between the reads, repeats the
 * reads, at most COUNT_TRIES times. */
static void count(const struct hd_monitor *m, struct hd_loop *l, struct counted *c) {
    struct hd_loop_view view;
    uint64_t last, since;
    unsigned tries = 0;
    do {
        hd_loop_view(l, &view);
        c->busy_ticks = ended_ticks(l, &last);
        c->until_ns = hd_monitor_ticks_to_ns(m, view.running ? view.turn_ticks : hd_monitor_ticks(m));
        for (unsigned b = 0; b < HD_TURN_HISTOGRAM; b++) {
            c->turns[b] = atomic_load_explicit(&l->histogram[b], memory_order_acquire);
        }
    } while ((view.word != atomic_load_explicit(&l->word, memory_order_acquire) ||
              c->busy_ticks != ended_ticks(l, &since)) &&
             tries++ < COUNT_TRIES);
    c->turns[hd_turn_bucket(hd_ticks_to_ns(last, m->run->clock.ns_per_tick_32))]++;
}

/* Removes the loop's last ended turn from the histogram of all watches' turns. */
static void drop_last_turn(struct hd_monitor *m, struct hd_loop_sums *s, const struct counted *c) {
    uint64_t bucket = hd_turn_bucket(s->last_busy_ns);
    while (bucket > 0 && c->turns[bucket] == 0) {
        bucket--;
    }
    m->ended.histogram[bucket]--;
    s->last_busy_ns = 0;
}

/* Adds the loop's time since the last call to the sums. A turn that ended since that call cannot be longer
 * than this time. If the time-stamp counter shows a longer turn, the machine was suspended, and the clock's
 * time counts instead. If the process was stopped in a turn, the stop's time is subtracted. In both cases the
 * turn is removed from the histogram. The runner may store the stop's time only after a call has added the
 * turn, so s->last_busy_ns keeps that turn's length. */
static void sum_up(struct hd_monitor *m, struct hd_loop_sums *s, const struct counted *c) {
    uint64_t span_ns = c->until_ns > s->until_ns ? c->until_ns - s->until_ns : 0;
    uint64_t grew = c->busy_ticks - s->ticks;
    uint64_t stopped_ns =
        atomic_load_explicit(&m->run->record->runner.stopped_ns, memory_order_relaxed) - s->stopped_ns;
    if (c->until_ns + stopped_ns <= m->run->clock.ns) {
        /* subtracts nothing now, because the stop may be in the running turn; a call after that turn's end
         * subtracts it */
        stopped_ns = 0;
    }
    if (grew > 0 - TWICE_TICKS) {
        /* adds no busy time: the last call read the loop between two stores of a mark, and so counted a
         * turn twice */
        grew = 0;
    }
    uint64_t busy_ns = hd_ticks_to_ns(grew, m->run->clock.ns_per_tick_32);
    s->last_busy_ns = busy_ns != 0 ? busy_ns : s->last_busy_ns;
    /* true: the stop was in the last turn. If stopped_ns is 0, the result is false, since subtracting 1
     * from 0 gives the greatest unsigned number. */
    bool in_turn = stopped_ns - 1 < s->last_busy_ns;
    if (in_turn || busy_ns > span_ns + span_ns / 64 + HD_NS_PER_MS) {
        drop_last_turn(m, s, c);
    }
    busy_ns = busy_ns < span_ns ? busy_ns : span_ns;
    s->busy_ns += busy_ns;
    s->idle_ns += span_ns - busy_ns;
    s->until_ns += span_ns;
    s->ticks += grew;
    s->stopped_ns += stopped_ns;
    uint64_t *from = in_turn || s->idle_ns < stopped_ns ? &s->busy_ns : &s->idle_ns;
    *from = *from > stopped_ns ? *from - stopped_ns : 0;
}

static void add_frames(struct hd_totals *sum, const struct hd_frames *f) {
    sum->frames += atomic_load_explicit(&f->presented, memory_order_relaxed);
    sum->frames_dropped += atomic_load_explicit(&f->dropped, memory_order_relaxed);
    sum->frame_ns += atomic_load_explicit(&f->time_ns, memory_order_relaxed);
    sum->hitch_ns += atomic_load_explicit(&f->hitch_ns, memory_order_relaxed);
    for (unsigned b = 0; b < HD_FRAME_BUCKETS; b++) {
        sum->frame_histogram[b] += atomic_load_explicit(&f->histogram[b], memory_order_relaxed);
    }
}

void hd_totals_add(struct hd_monitor *m, struct hd_totals *sum, struct hd_look_state *s) {
    struct counted c;
    count(m, &s->watch->loop, &c);
    sum_up(m, &s->sums, &c);
    for (unsigned b = 0; b < HD_TURN_HISTOGRAM; b++) {
        sum->histogram[b] += c.turns[b];
    }
    sum->busy_ns += s->sums.busy_ns;
    sum->idle_ns += s->sums.idle_ns;
    add_frames(sum, &s->watch->loop.frames);
    add_cost(&sum->cost, &(struct hd_capture_cost){.pause_max_ns = s->sums.pause_max_ns});
    add_cost(&sum->cost, &s->target.cost);
}

static uint64_t cpu_so_far(const struct hd_monitor *m) {
    return hd_os_thread_cpu_ns() + atomic_load_explicit(&m->run->channel.worker_cpu_ns, memory_order_relaxed);
}

static void publish_costs(struct hd_monitor *m, const struct hd_capture_cost *cost) {
    struct hd_record *r = m->run->record;
    atomic_store_explicit(&r->cost.samples, cost->samples, memory_order_relaxed);
    atomic_store_explicit(&r->cost.signals, cost->signals, memory_order_relaxed);
    atomic_store_explicit(&r->cost.interrupted_syscalls, cost->interrupted_syscalls, memory_order_relaxed);
    atomic_store_explicit(&r->cost.restarted_syscalls, cost->restarted_syscalls, memory_order_relaxed);
    atomic_store_explicit(&r->cost.pause_total_ns, cost->pause_total_ns, memory_order_relaxed);
    atomic_store_explicit(&r->cost.pause_max_ns, cost->pause_max_ns, memory_order_relaxed);
    atomic_store_explicit(&r->cost.late_max_ns, m->late.max_ns, memory_order_relaxed);
    atomic_store_explicit(&r->cost.cpu_ns, cpu_so_far(m), memory_order_relaxed);
}

static void publish_frames(struct hd_record *r, const struct hd_totals *sum) {
    atomic_store_explicit(&r->frames.count, sum->frames, memory_order_relaxed);
    atomic_store_explicit(&r->frames.dropped, sum->frames_dropped, memory_order_relaxed);
    atomic_store_explicit(&r->frames.total_ns, sum->frame_ns, memory_order_relaxed);
    atomic_store_explicit(&r->frames.hitch_ns, sum->hitch_ns, memory_order_relaxed);
    for (unsigned b = 0; b < HD_FRAME_BUCKETS; b++) {
        atomic_store_explicit(&r->frames.histogram[b], sum->frame_histogram[b], memory_order_relaxed);
    }
}

void hd_totals_publish(struct hd_monitor *m) {
    struct hd_record *r = m->run->record;
    struct hd_totals sum = m->ended;
    unsigned i = 0;
    for (struct hd_watch *w; (w = hd_watch_next_on(&m->run->watches, &i)) != NULL;) {
        hd_totals_add(m, &sum, hd_monitor_look_state(m, w));
    }
    /* the record's histogram has fewer buckets, so its last bucket counts all longer turns */
    for (unsigned b = HD_TURN_BUCKETS; b < HD_TURN_HISTOGRAM; b++) {
        sum.histogram[HD_TURN_BUCKETS - 1] += sum.histogram[b];
    }
    for (unsigned b = 0; b < HD_TURN_BUCKETS; b++) {
        uint64_t turns = (int64_t)sum.histogram[b] > 0 ? sum.histogram[b] : 0;
        atomic_store_explicit(&r->turns.histogram[b], turns, memory_order_relaxed);
    }
    atomic_store_explicit(&r->turns.busy_ns, sum.busy_ns, memory_order_relaxed);
    atomic_store_explicit(&r->turns.idle_ns, sum.idle_ns, memory_order_relaxed);
    atomic_store_explicit(&r->status.alive_ns, hd_os_now_ns(), memory_order_relaxed);
    publish_frames(r, &sum);
    publish_costs(m, &sum.cost);
}

void hd_totals_publish_when_due(struct hd_monitor *m, bool all_idle) {
    if (all_idle || m->looked_ns >= m->published_ns + PUBLISH_NS) {
        m->published_ns = m->looked_ns;
        hd_totals_publish(m);
    }
}

void hd_totals_check_budget(struct hd_monitor *m) {
    uint64_t now_ns = m->now.now_ns, pause_ns = m->ended.cost.pause_total_ns;
    if (m->budget.at_ns != 0 && now_ns - m->budget.at_ns < CHECK_NS) {
        return;
    }
    for (unsigned i = 0, n = hd_watch_slots(&m->run->watches); i < n; i++) {
        struct hd_watch *w = hd_watch_at(&m->run->watches, i);
        uint32_t use = atomic_load_explicit(&w->use, memory_order_acquire);
        /* only open watches are added here, because m->ended already has the pause times of ended watches */
        if (use == HD_WATCH_ON || use == HD_WATCH_LEAVING) {
            pause_ns += hd_monitor_look_state(m, w)->target.cost.pause_total_ns;
        }
    }
    if (hd_budget_check(&m->budget, now_ns, cpu_so_far(m), pause_ns)) {
        atomic_store_explicit(&m->run->record->losses.degraded, 1, memory_order_relaxed);
    }
}
