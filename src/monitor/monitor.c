/* SPDX-License-Identifier: MIT
 *
 * The monitor's thread looks at all loops, does what is due, and sleeps until the next look. It opens only
 * files of /proc, most of them when it starts or when a watch starts. It opens a thread's `stat` and `maps`
 * only for one read. (It reads `maps` if the main stack has grown.) It never waits for a lock or another
 * thread, except up to 55 ms for a sample. No allocation.
 */
#include "monitor/monitor.h"

#include "monitor/cpu_watch.h"
#include "monitor/credentials.h"
#include "monitor/keep_alive.h"
#include "monitor/lateness.h"
#include "monitor/limits.h"
#include "monitor/look.h"
#include "monitor/park.h"
#include "monitor/pool_watch.h"
#include "monitor/send.h"
#include "monitor/totals.h"
#include "monitor/watches.h"
#include "watch/follow.h"

/* Reads the time-stamp counter and the clock, and returns the clock's time. If this pair makes the counter's
 * rate more exact, all loops get the new rate. */
static uint64_t pair_clock(struct hd_monitor *m) {
    uint64_t ticks, now_ns;
    hd_clock_read(m->run->ticks_are_tsc, &ticks, &now_ns);
    if (!hd_clock_pair(&m->run->clock, ticks, now_ns)) {
        return now_ns;
    }
    unsigned i = 0;
    for (struct hd_watch *w; (w = hd_watch_next_on(&m->run->watches, &i)) != NULL;) {
        atomic_store_explicit(&w->loop.ns_per_tick_32, m->run->clock.ns_per_tick_32, memory_order_relaxed);
    }
    return now_ns;
}

static void update_pause(struct hd_monitor *m) {
    bool paused = atomic_load_explicit(&m->run->channel.program.paused, memory_order_relaxed) != 0;
    if (m->pause.lasts && !paused) {
        m->pause.ended_ns = m->now.now_ns;
    }
    m->pause.lasts = paused;
}

/* Returns whether no loop is watched yet, so that the launch of the first loop will count from Hangdog's
 * start. */
static bool launches_without_a_loop(const struct hd_monitor *m) {
    const struct hd_record *r = m->run->record;
    unsigned i = 0;
    return !m->run->settings.deferred && m->now.now_ns - r->options.started_ns < HD_LAUNCH_KNOWN_NS &&
           atomic_load_explicit(&r->turns.launch_ns, memory_order_relaxed) == 0 &&
           hd_watch_next_on(&m->run->watches, &i) == NULL;
}

/* Sends the worker a message if the recogniser has work for it. */
static void send_waits(struct hd_monitor *m, uint64_t now_ns) {
    const struct hd_recogniser *recogniser = &m->run->ports.recogniser;
    if (recogniser->due != NULL && recogniser->due(recogniser->ctx, now_ns)) {
        hd_monitor_send(m, &(struct hd_message){.type = HD_MSG_WAITS});
    }
}

/* Returns whether the turn is a launch that is too old to be sampled. If so, the monitor looks at the loop
 * again only after the loop's next wait has started, which wakes the monitor. */
static bool is_given_up(const struct hd_monitor *m, const struct hd_look_state *s) {
    uint64_t sampled_ns = m->run->settings.sample_launch_ns;
    return sampled_ns != 0 && !s->launched && s->turn.phase != HD_TURN_IDLE &&
           hd_turn_state_age(&s->turn, m->run->clock.ns) > sampled_ns;
}

/* Opens, looks at, or closes one watch. Returns when to look at it next. HD_NEVER: not before the loop's next
 * mark. */
static uint64_t look_at_watch(struct hd_monitor *m, struct hd_watch *w) {
    uint32_t use = atomic_load_explicit(&w->use, memory_order_acquire);
    if (use == HD_WATCH_NEW) {
        hd_watches_open(m, w);
    } else if (use == HD_WATCH_LEAVING) {
        hd_watches_close(m, w);
        return HD_NEVER;
    } else if (use != HD_WATCH_ON) {
        return HD_NEVER;
    }
    struct hd_look_state *s = hd_monitor_look_state(m, w);
    hd_watches_send_certain(m, s);
    bool in_turn = hd_look_at(m, s);
    /* wakes the watch's thread, which may be blocked until the monitor has opened the watch */
    if (use == HD_WATCH_NEW) {
        hd_os.futex_wake((uint32_t *)&w->use, 1, false);
    }
    return in_turn && !is_given_up(m, s) ? s->next_ns : HD_NEVER;
}

/* Looks at all loops. A look at one loop may take 55 ms, and the thread of a LEAVING watch is blocked until
 * its watch is closed. So LEAVING watches are closed before each look at a loop. */
static uint64_t look_at_watches(struct hd_monitor *m) {
    uint64_t next_ns = HD_NEVER;
    for (unsigned i = 0, n = hd_watch_slots(&m->run->watches); i < n && !hd_monitor_is_stopping(m); i++) {
        if (atomic_load_explicit(&m->run->watches.entering, memory_order_relaxed) != 0) {
            hd_watches_close_leaving(m);
        }
        uint64_t ns = look_at_watch(m, hd_watch_at(&m->run->watches, i));
        next_ns = ns < next_ns ? ns : next_ns;
    }
    return next_ns;
}

/* Does one look at all loops. Returns when the next look is due. HD_NEVER: no loop needs a look before its
 * next mark. */
static uint64_t look(struct hd_monitor *m) {
    hd_lateness_start_look(m, pair_clock(m));
    bool launches = launches_without_a_loop(m);
    update_pause(m);
    hd_limits_update(m);
    if (launches && m->now.late_ns > m->now.own_delay_ns + HD_LATE_NS) {
        /* the process was stopped before a loop was watched: turns count only from here, so that the launch
         * does not contain the stop */
        m->pause.ended_ns = m->now.now_ns;
    }
    hd_totals_check_budget(m);
    uint64_t next_ns = look_at_watches(m);
    if (launches && next_ns == HD_NEVER) {
        next_ns = m->now.now_ns + HD_NS_PER_S;
    }
    send_waits(m, m->now.now_ns);
    m->looked_ns = m->now.now_ns;
    return hd_lateness_end_look(m, next_ns);
}

static void start(struct hd_monitor *m) {
    hd_os.set_thread_name("hangdog");
    atomic_store_explicit(&m->run->channel.threads.monitor, hd_thread_id_self(), memory_order_relaxed);
    hd_capture_files_open();
    hd_lateness_open(m);
    hd_follow_open();
    hd_keep_alive_open(m);
    hd_run_is_ready(m->run);
}

static void finish(struct hd_monitor *m) {
    /* The worker gets the recogniser's work before the watches close, because the recogniser may still find
     * that a loop's last wait was the loop's own. If it does, the time until now was several turns, and not
     * one long launch. */
    send_waits(m, hd_os_now_ns());
    hd_watches_close_all(m);
    hd_totals_publish(m);
    hd_monitor_send(m, &(struct hd_message){.type = HD_MSG_STOP});
}

void *hd_monitor_run(void *monitor) {
    struct hd_monitor *m = monitor;
    start(m);
    while (!hd_monitor_is_stopping(m)) {
        uint32_t seen = atomic_load_explicit(&m->run->channel.wake, memory_order_seq_cst);
        hd_monitor_credentials_check(m, false);
        uint64_t next_ns = look(m);
        hd_cpu_watch_step(m);
        hd_pool_watch_step(m);
        hd_keep_alive_step(m);
        hd_totals_publish_when_due(m, next_ns == HD_NEVER);
        hd_park_wait(m, seen, next_ns);
    }
    finish(m);
    return NULL;
}
