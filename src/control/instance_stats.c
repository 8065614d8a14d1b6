/* SPDX-License-Identifier: MIT
 *
 * Reads the totals of the process and of a loop while all other threads are running. Any thread;
 * async-signal-safe: only atomic variables, no lock, no allocation, no system calls except for the clock and
 * the process number.
 */
#include <errno.h>
#include <string.h>

#include "watch/watching.h"

/* the totals of a loop are read again if a turn has ended meanwhile, but not more often than this */
#define READ_TRIES 4

static uint64_t load(const _Atomic uint64_t *value) {
    return atomic_load_explicit(value, memory_order_relaxed);
}

/* Copies as much as fits into the caller's struct, which is shorter if the program was built with an older
 * Hangdog. The struct's size member stays as it is. */
static int give(void *out, const void *from, size_t bytes) {
    size_t size;
    memcpy(&size, out, sizeof size);
    if (size < sizeof size) {
        return -EINVAL;
    }
    size_t n = size < bytes ? size : bytes;
    memcpy((uint8_t *)out + sizeof size, (const uint8_t *)from + sizeof size, n - sizeof size);
    return 0;
}

static void fill_turns(const struct hd_run *r, hangdog_totals *t) {
    for (unsigned b = 0; b < HD_TURN_BUCKETS; b++) {
        t->turns += load(&r->record->turns.histogram[b]);
    }
    unsigned i = 0;
    while (hd_watch_next_on(&r->watches, &i) != NULL) {
        t->loops++;
    }
}

int hangdog_stats(hangdog_totals *totals) {
    struct hd_run *r = hd_run_current();
    if (totals == NULL) {
        return -EINVAL;
    }
    /* until hd_watch_leave no other thread can restart Hangdog, which would zero the record */
    if (r == NULL || !hd_watch_enter(r)) {
        return -ESRCH;
    }
    const struct hd_record *c = r->record;
    bool open = atomic_load_explicit(&c->open.state, memory_order_acquire) == HD_RECORD_HANG_LASTS;
    hangdog_totals t = {
        .busy_ns = load(&c->turns.busy_ns),
        .idle_ns = load(&c->turns.idle_ns),
        .launch_ns = load(&c->turns.launch_ns),
        .hangs = load(&c->hangs.count),
        .hang_ns = load(&c->hangs.total_ns),
        .hang_max_ns = load(&c->hangs.max_ns),
        .open_hang_ns = open ? load(&c->open.duration_ns) : 0,
        .samples = load(&c->cost.samples),
        .interrupted_syscalls = load(&c->cost.interrupted_syscalls),
        .pause_total_ns = load(&c->cost.pause_total_ns),
        .pause_max_ns = load(&c->cost.pause_max_ns),
        .cpu_ns = load(&c->cost.cpu_ns),
        .late_max_ns = load(&c->cost.late_max_ns),
        .reports_written = load(&c->hangs.complete_reports),
        .reports_suppressed = load(&c->losses.suppressed),
        .reports_dropped = load(&c->losses.dropped_reports),
        .reports_failed = load(&c->losses.spool_failures),
        .degraded = atomic_load_explicit(&c->losses.degraded, memory_order_relaxed) != 0,
    };
    fill_turns(r, &t);
    hd_watch_leave(r);
    return give(totals, &t, sizeof t);
}

/* Reads the loop's totals once. Returns false if a turn has ended meanwhile. */
static bool read_loop(struct hd_loop *l, hangdog_loop_totals *t) {
    struct hd_loop_view view;
    hd_loop_view(l, &view);
    uint64_t rate = load(&l->ns_per_tick_32), now = hd_loop_ticks(l);
    uint64_t started = load(&l->started_ticks);
    uint64_t running = view.running && now > view.turn_ticks ? now - view.turn_ticks : 0;
    uint64_t ended = load(&l->busy_ticks) + load(&l->pending_ticks);
    /* 1 for the pending turn, which is in no bucket yet; a loop without one has -1 in its first bucket */
    t->turns = 1;
    for (unsigned b = 0; b < HD_TURN_HISTOGRAM; b++) {
        t->turns += load(&l->histogram[b]);
    }
    t->running_ns = hd_ticks_to_ns(running, rate);
    t->watched_ns = now > started ? hd_ticks_to_ns(now - started, rate) : 0;
    t->busy_ns = hd_ticks_to_ns(ended + running, rate);
    t->busy_ns = t->busy_ns < t->watched_ns ? t->busy_ns : t->watched_ns;
    return view.word == atomic_load_explicit(&l->word, memory_order_acquire);
}

int hangdog_loop_stats(hangdog_loop *loop, hangdog_loop_totals *totals) {
    struct hd_watch *w = (struct hd_watch *)(void *)loop;
    if (w == NULL || totals == NULL) {
        return -EINVAL;
    }
    if (hd_run_current() == NULL || atomic_load(&w->use) < HD_WATCH_NEW) {
        return -ESRCH;
    }
    hangdog_loop_totals t = {0};
    for (unsigned tries = 0; !read_loop(&w->loop, &t) && tries < READ_TRIES; tries++) {
    }
    return give(totals, &t, sizeof t);
}
