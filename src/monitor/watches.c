/* SPDX-License-Identifier: MIT */
#include "monitor/watches.h"

#include "capture/watched_thread.h"
#include "monitor/limits.h"
#include "monitor/look.h"
#include "monitor/sampling.h"
#include "monitor/send.h"
#include "monitor/totals.h"

/* Returns whether the loop of a new watch has no launch. In the library, it has none if another loop has
 * ended the launch before. In the preload the result is false, because the recogniser finds out later
 * which loop launches. */
static bool is_launched(const struct hd_monitor *m) {
    return !m->run->settings.deferred &&
           atomic_load_explicit(&m->run->record->turns.launch_ns, memory_order_relaxed) != 0;
}

void hd_watches_open(struct hd_monitor *m, struct hd_watch *w) {
    struct hd_look_state *s = hd_monitor_look_state(m, w);
    struct hd_record *r = m->run->record;
    *s = (struct hd_look_state){
        .watch = w,
        .target = {.mailbox = w->mailbox, .watched = true, .request.signal = m->run->settings.signal},
        .launched = is_launched(m),
        .ring = {.keep_free = HD_RING_RESERVE},
        .sums = {.until_ns = hd_monitor_ticks_to_ns(m, w->loop.started_ticks),
                 .stopped_ns = atomic_load_explicit(&r->runner.stopped_ns, memory_order_relaxed)}};
    hd_limits_look_often(m, w);
    atomic_store_explicit(&w->loop.ns_per_tick_32, m->run->clock.ns_per_tick_32, memory_order_relaxed);
    atomic_store_explicit(&w->worker.changed_ns, 0, memory_order_relaxed);
    /* an error is ignored, because the captures find out which files are not open */
    hd_target_open(&s->target, hd_loop_thread(&w->loop));
    /* If the exchange fails, the watch is LEAVING already. The monitor soon closes the watch, because its
     * thread is blocked until then. */
    uint32_t still_new = HD_WATCH_NEW;
    if (atomic_compare_exchange_strong(&w->use, &still_new, HD_WATCH_ON)) {
        hd_sampling_take(m, s, HD_MSG_DRY);
        hd_capture_late_forget(&s->target);
    }
}

void hd_watches_close(struct hd_monitor *m, struct hd_watch *w) {
    struct hd_look_state *s = hd_monitor_look_state(m, w);
    hd_look_last(m, s);
    /* the flags are cleared, so that no mark of this loop wakes the monitor */
    atomic_store_explicit(&w->loop.flags, 0, memory_order_seq_cst);
    if (s->target.watched) { /* false: the watch was never opened */
        hd_totals_add(m, &m->ended, s);
        hd_target_close(&s->target);
    }
    if (w->mailbox != NULL) {
        hd_capture_thread_closed(w->mailbox);
        w->mailbox = NULL;
    }
    atomic_store_explicit(&w->use, HD_WATCH_FREE, memory_order_release);
    hd_os.futex_wake((uint32_t *)&w->use, 1, false);
}

void hd_watches_close_leaving(struct hd_monitor *m) {
    for (unsigned i = 0, n = hd_watch_slots(&m->run->watches); i < n; i++) {
        struct hd_watch *w = hd_watch_at(&m->run->watches, i);
        if (atomic_load_explicit(&w->use, memory_order_acquire) == HD_WATCH_LEAVING) {
            hd_watches_close(m, w);
        }
    }
}

void hd_watches_close_all(struct hd_monitor *m) {
    atomic_store(&m->run->channel.stop.watches_closed, true);
    for (unsigned i = 0, n = hd_watch_slots(&m->run->watches); i < n; i++) {
        struct hd_watch *w = hd_watch_at(&m->run->watches, i);
        uint32_t use = HD_WATCH_NEW;
        /* A watch that is NEW may be taken back by the thread that has added it. If that thread is
         * quicker, the exchange fails, and the watch is free. */
        if (atomic_compare_exchange_strong(&w->use, &use, HD_WATCH_LEAVING) || use >= HD_WATCH_NEW) {
            hd_watches_close(m, w);
        }
    }
}

void hd_watches_send_certain(struct hd_monitor *m, struct hd_look_state *s) {
    const struct hd_watch *w = s->watch;
    bool certain = atomic_load_explicit(&w->loop.found.certain, memory_order_relaxed);
    struct hd_message message = {.type = HD_MSG_CERTAIN, .loop = w->index, .generation = w->generation};
    s->certain_sent = certain && (s->certain_sent || hd_monitor_send(m, &message));
}
