/* SPDX-License-Identifier: MIT
 *
 * The monitor thread: keeps the time, looks, captures, and tells the worker. It touches no file but those of
 * /proc (most by kept descriptors; a thread's `stat`, and `maps` where the main stack has grown, are opened
 * for one read) and never waits for anybody. No allocation.
 */
#include "monitor/monitor.h"

#include <errno.h>

#include "capture/linux/target.h"
#include "monitor/cpu_watch.h"
#include "monitor/follow.h"
#include "monitor/keep_alive.h"
#include "monitor/look.h"
#include "monitor/sampling.h"
#include "monitor/totals.h"
#include "os/linux/proc_text.h"
#include "watch/follow.h"

#define UNREAD_LATE_NS (5 * HD_NS_PER_MS) /* own figures older than so much lateness are read anew */
#define OWN_READ_NS (1 * HD_NS_PER_S)     /* the same while no loop runs */
#define PUBLISH_NS \
    (1 * HD_NS_PER_S) /* how old the record's figures may be: each time touches much cold memory */
#define NOT_READ (UINT64_MAX / 2)
#define FOR_EVER UINT64_MAX

/* ---- clock ---------------------------------------------------------------------------------- */

/* Pairs the counter with the clock anew; a rate that is better is told to the loops. */
static uint64_t anchor(struct hd_monitor *m) {
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

/* ---- the thread ----------------------------------------------------------------------------- */

static bool is_stopping(const struct hd_monitor *m) {
    return atomic_load_explicit(&m->run->channel.stopping, memory_order_acquire);
}

/* Turns that were running when watching was resumed count from there. */
static void note_pause(struct hd_monitor *m, uint64_t now_ns) {
    bool paused = atomic_load_explicit(&m->run->channel.paused, memory_order_relaxed) != 0;
    if (m->was_paused && !paused) {
        m->resumed_ns = now_ns;
    }
    m->was_paused = paused;
}

/* A launch that has lasted too long to be sampled any more: its waits wake us. */
static bool given_up(const struct hd_monitor *m, const struct hd_watch *w) {
    return m->run->settings.sample_launch_ns != 0 && !w->look.launched &&
           w->look.turn.state != HD_TURN_IDLE &&
           hd_turn_state_age(&w->look.turn, m->run->clock.ns) > m->run->settings.sample_launch_ns;
}

static void send_waits(struct hd_monitor *m, uint64_t now_ns) {
    const struct hd_recogniser *recogniser = &m->run->ports.recogniser;
    if (recogniser->due != NULL && recogniser->due(recogniser->ctx, now_ns)) {
        hd_monitor_send(m, &(struct hd_message){.type = HD_MSG_WAITS});
    }
}

/* Whose thread waits for that: not until all the others were sampled, each of which may take 50 ms. */
static void close_leaving(struct hd_monitor *m) {
    for (unsigned i = 0, n = hd_watch_slots(&m->run->watches); i < n; i++) {
        if (atomic_load_explicit(&hd_watch_at(&m->run->watches, i)->use, memory_order_acquire) ==
            HD_WATCH_LEAVING) {
            hd_monitor_close_watch(m, hd_watch_at(&m->run->watches, i));
        }
    }
}

/* No loop yet, and the first will have been launching since the start: looked for stops all the same. */
static bool launches_unseen(const struct hd_monitor *m, uint64_t now_ns) {
    unsigned i = 0;
    return !m->run->settings.deferred && now_ns - m->run->record->options.started_ns < HD_LAUNCH_KNOWN_NS &&
           atomic_load_explicit(&m->run->record->turns.launch_ns, memory_order_relaxed) == 0 &&
           hd_watch_next_on(&m->run->watches, &i) == NULL;
}

/* The program has changed thresholds or the interval. */
static void note_limits(struct hd_monitor *m) {
    if (!atomic_load_explicit(&m->run->channel.limits_changed, memory_order_relaxed)) {
        return;
    }
    atomic_store(&m->run->channel.limits_changed, false); /* before they are read */
    m->look_ns = m->run->settings.interval_ns;
    unsigned i = 0;
    for (struct hd_watch *w; (w = hd_watch_next_on(&m->run->watches, &i)) != NULL;) {
        hd_look_often_enough(m, w);
    }
}

/* All loops, one pass. The time of the next look, FOR_EVER when every loop is idle. */
static uint64_t look(struct hd_monitor *m) {
    uint64_t now_ns = anchor(m);
    uint64_t late_ns = m->planned_ns != 0 && now_ns > m->planned_ns ? now_ns - m->planned_ns : 0;
    uint64_t delay_ns = late_ns > HD_LATE_NS ? hd_monitor_own_delay(m) + m->overtime_ns : 0;
    uint64_t napped_ns = hd_capture_napped_ns();
    m->overtime_ns = 0;
    m->late_max_ns = late_ns > m->late_max_ns ? late_ns : m->late_max_ns;
    uint64_t next_ns = FOR_EVER;
    bool launches = launches_unseen(m, now_ns);
    note_pause(m, now_ns);
    note_limits(m);
    if (launches && late_ns > delay_ns + HD_LATE_NS) {
        m->resumed_ns = now_ns;
    }
    hd_totals_check_budget(m, now_ns);
    for (unsigned i = 0, n = hd_watch_slots(&m->run->watches); i < n && !is_stopping(m); i++) {
        struct hd_watch *w = hd_watch_at(&m->run->watches, i);
        if (atomic_load_explicit(&m->run->watches.entering, memory_order_relaxed) != 0) {
            close_leaving(m);
        }
        uint32_t use = atomic_load_explicit(&w->use, memory_order_acquire);
        if (use == HD_WATCH_NEW) {
            hd_monitor_open_watch(m, w);
        } else if (use == HD_WATCH_LEAVING) {
            hd_monitor_close_watch(m, w);
            continue;
        } else if (use != HD_WATCH_ON) {
            continue;
        }
        hd_look_send_certain(m, w);
        if (hd_look_at(m, w, now_ns, late_ns, delay_ns) && !given_up(m, w) && w->look.next_ns < next_ns) {
            next_ns = w->look.next_ns;
        }
        if (use == HD_WATCH_NEW) { /* its thread may wait for that: a launch that was slow is a hang by now */
            hd_os.futex_wake((uint32_t *)&w->use, 1, false);
        }
    }
    if (launches && next_ns == FOR_EVER) {
        next_ns = now_ns + HD_NS_PER_S;
    }
    send_waits(m, now_ns);
    m->looked_ns = now_ns;
    m->unread_late_ns = late_ns > HD_LATE_NS ? 0 : m->unread_late_ns + late_ns;
    if (next_ns != FOR_EVER && hd_os_now_ns() - now_ns > HD_LATE_NS) {
        /* longer than any look takes: what has happened meanwhile is the next one's question, and so is how
         * long we waited for a processor */
        next_ns = now_ns;
        m->overtime_ns = hd_capture_napped_ns() - napped_ns; /* no stop of the process */
    } else if (m->unread_late_ns > UNREAD_LATE_NS &&
               (next_ns != FOR_EVER || now_ns - m->own_read_ns >= OWN_READ_NS)) {
        hd_monitor_own_delay(m);
        m->own_read_ns = now_ns;
        m->unread_late_ns = 0;
    }
    return next_ns;
}

/* Asks every loop to wake us when it runs. Its word is to be believed HD_SETTLE_NS later, and not before. */
static void ask_to_be_woken(struct hd_monitor *m) {
    if (m->wakes_since_ns != 0) {
        return;
    }
    unsigned i = 0;
    for (struct hd_watch *w; (w = hd_watch_next_on(&m->run->watches, &i)) != NULL;) {
        atomic_fetch_or_explicit(&w->loop.flags, HD_FLAG_PARKED, memory_order_seq_cst);
    }
    m->wakes_since_ns = hd_os_now_ns();
}

static void stop_asking(struct hd_monitor *m) {
    if (m->wakes_since_ns == 0) {
        return;
    }
    unsigned i = 0;
    for (struct hd_watch *w; (w = hd_watch_next_on(&m->run->watches, &i)) != NULL;) {
        atomic_fetch_and_explicit(&w->loop.flags, ~HD_FLAG_PARKED, memory_order_seq_cst);
    }
    m->wakes_since_ns = 0;
}

/* Whether every loop is still asked: one that has run since then took its flag off, and need not run any
 * more. */
static bool still_requested(const struct hd_monitor *m) {
    for (unsigned i = 0, n = hd_watch_slots(&m->run->watches); i < n; i++) {
        uint32_t use = atomic_load_explicit(&hd_watch_at(&m->run->watches, i)->use, memory_order_acquire);
        bool wakes =
            use == HD_WATCH_ON &&
            (atomic_load_explicit(&hd_watch_at(&m->run->watches, i)->loop.flags, memory_order_seq_cst) &
             HD_FLAG_PARKED) != 0;
        if (use == HD_WATCH_NEW || use == HD_WATCH_LEAVING || (use == HD_WATCH_ON && !wakes)) {
            return false;
        }
    }
    return true;
}

/* That time, or when something else is due. */
static uint64_t earlier(const struct hd_monitor *m, uint64_t ns) {
    uint64_t cpu_ns = hd_cpu_watch_next(m), alive_ns = hd_keep_alive_next(m);
    ns = cpu_ns < ns ? cpu_ns : ns;
    return alive_ns < ns ? alive_ns : ns;
}

/* Sleeps until somebody runs, or the next look at one that is stuck for long. Every other loop was idle at a
 * look that came long enough after they were asked. */
static void park(struct hd_monitor *m, uint32_t seen, uint64_t until_ns) {
    hd_monitor_follow(m, true);
    uint64_t check_ns = hd_monitor_follow_next();
    until_ns = earlier(m, until_ns < check_ns ? until_ns : check_ns);
    m->planned_ns = until_ns;
    /* `seen` is older: a flag that is taken off from now on changes the word */
    if (still_requested(m) &&
        hd_os.futex_wait((uint32_t *)&m->run->channel.wake, seen, until_ns, false) == -ETIMEDOUT) {
        return; /* they need not be asked again */
    }
    stop_asking(m);
    m->was_parked = true;
    m->awake_until_ns = hd_os_now_ns() + m->look_ns;
}

/* Until the next look, or until a loop wakes us. After a wake we stay awake for an interval: a busy loop is
 * not to wake us at each of its turns. But when we come from a park it is asked at once, so that a loop that
 * only ticks costs two wake-ups a tick: the second finds it idle, and asked long ago. */
static void wait(struct hd_monitor *m, uint32_t seen, uint64_t next_ns) {
    bool idle = next_ns == FOR_EVER;
    /* or who runs does so for long, and is looked at seldom: nor are the others that wait */
    bool rests = next_ns > m->looked_ns + m->look_ns + m->look_ns / 2;
    uint64_t until_ns = next_ns;
    bool ask = m->was_parked;
    if (idle || m->looked_ns >= m->published_ns + PUBLISH_NS) {
        m->published_ns = m->looked_ns;
        hd_totals_publish(m);
    }
    if (rests && m->wakes_since_ns != 0 && m->looked_ns >= m->wakes_since_ns + HD_SETTLE_NS) {
        park(m, seen, next_ns);
    } else {
        if (rests && m->looked_ns < m->awake_until_ns) {
            until_ns = m->awake_until_ns;
        } else if (rests) {
            until_ns = hd_os_now_ns() + HD_SETTLE_NS + HD_SETTLE_NS / 4;
            ask = true;
        }
        until_ns = earlier(m, until_ns < next_ns ? until_ns : next_ns);
        m->was_parked = false;
        if (ask) {
            ask_to_be_woken(m);
        } else {
            stop_asking(m);
        }
        if (hd_os.futex_wait((uint32_t *)&m->run->channel.wake, seen, until_ns, false) != -ETIMEDOUT) {
            stop_asking(m);
            m->awake_until_ns = hd_os_now_ns() + m->look_ns;
        }
        m->planned_ns = until_ns; /* a look before it is due is early, not late: woken by a turn's end */
    }
    if (idle) {
        m->unread_late_ns = NOT_READ; /* how late this waking was is not known */
    }
}

/* The handler does, to mend what our signal broke. */
static bool may_read_memory(void) {
    char byte, copy;
    return hd_os.read_memory(hd_os.get_pid(), (uint64_t)(uintptr_t)&byte, &copy, 1) == 1;
}

/* What the handler does under a filter, the runner has tried for the preload; the library cannot know which
 * calls are the program's end. */
static void open_own(struct hd_monitor *m) {
    struct hd_target own = {0};
    struct hd_proc_status status = {.filters = HD_FILTERS_UNKNOWN};
    (void)hd_target_open(&own, hd_thread_id_self());
    (void)hd_target_status(&own, &status);
    hd_capture_filters_are(status.filters == 0 || (m->run->settings.deferred && may_read_memory())
                               ? status.filters
                               : HD_FILTERS_UNKNOWN);
    m->own_schedstat_fd =
        own.schedstat_fd; /* kept; the others are closed with the table when the thread ends */
    own.schedstat_fd = -1;
    hd_target_close(&own);
}

void *hd_monitor_run(void *monitor) {
    struct hd_monitor *m = monitor;
    hd_os.set_thread_name("hangdog");
    atomic_store_explicit(&m->run->channel.monitor_thread, hd_thread_id_self(), memory_order_relaxed);
    hd_capture_files_open();
    open_own(m);
    hd_follow_open();
    hd_keep_alive_open(m);
    hd_run_is_ready(m->run);
    m->unread_late_ns = NOT_READ;
    while (!is_stopping(m)) {
        uint32_t seen = atomic_load_explicit(&m->run->channel.wake, memory_order_seq_cst);
        hd_monitor_follow(m, false);
        uint64_t next_ns = look(m);
        hd_cpu_watch_step(m);
        hd_keep_alive_step(m);
        m->wakeups++;
        wait(m, seen, next_ns);
    }
    /* before the launch ends: what waited last may be the loop's, and the launch several turns of it */
    send_waits(m, hd_os_now_ns());
    atomic_store(&m->run->channel.closed, true);
    for (unsigned i = 0, n = hd_watch_slots(&m->run->watches); i < n; i++) {
        struct hd_watch *w = hd_watch_at(&m->run->watches, i);
        uint32_t use = HD_WATCH_NEW;
        /* one that is too late its own thread ends, if it is quicker */
        if (atomic_compare_exchange_strong(&w->use, &use, HD_WATCH_LEAVING) || use >= HD_WATCH_NEW) {
            hd_monitor_close_watch(m, w);
        }
    }
    hd_totals_publish(m);
    hd_monitor_send(m, &(struct hd_message){.type = HD_MSG_STOP});
    return NULL;
}
