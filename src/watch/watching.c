/* SPDX-License-Identifier: MIT */
#include "watch/watching.h"

#include <string.h>

#include "capture/watched_thread.h"
#include "watch/futex.h"

bool hd_watch_enter(struct hd_run *r) {
    atomic_fetch_add(&r->watches.entering, 1);
    if (hd_run_has(r)) {
        return true;
    }
    atomic_fetch_sub(&r->watches.entering, 1);
    return false;
}

void hd_watch_leave(struct hd_run *r) {
    atomic_fetch_sub(&r->watches.entering, 1);
}

static bool is_this_thread(hd_thread_id thread) {
    return hd_thread_id_equal(thread, hd_thread_id_self());
}

/* If the monitor has closed a watch of the calling thread, frees that watch's thread memory. */
static void give_left_over(void) {
    void *memory = hd_capture_thread_leave_closed();
    if (memory != NULL) {
        hd_os_memory_give(memory, hd_capture_thread_bytes());
    }
}

void hd_watch_leave_stopped(void) {
    uint64_t until_ns = hd_os_now_ns() + HD_CALL_NS;
    hd_run_wait_changed(until_ns);
    give_left_over();
    struct hd_mailbox *own = hd_capture_own_mailbox();
    if (own != NULL && is_this_thread(own->thread)) {
        /* The monitor has not closed this watch yet. It may still read the watch's thread memory, so that
         * memory is never freed. */
        (void)hd_capture_thread_leave(own);
    }
}

/* Returns when the first turn of the calling thread started. For the main thread during a launch of less than
 * HD_LAUNCH_KNOWN_NS, that is Hangdog's start. Otherwise it is `now_ns`. */
static uint64_t launched_ns(const struct hd_run *r, uint64_t now_ns) {
    uint64_t started_ns = r->record->options.started_ns;
    bool launches = hd_os_is_main_thread() && atomic_load(&r->record->turns.launch_ns) == 0;
    return launches && now_ns - started_ns < HD_LAUNCH_KNOWN_NS ? started_ns : now_ns;
}

/* Gives the calling thread the memory that it uses when it answers the monitor's signals. A second watch of a
 * thread needs no memory, because the signal handler uses the memory of the first watch. */
static bool enter_thread(struct hd_watch *w) {
    size_t bytes = hd_capture_thread_bytes();
    const struct hd_mailbox *other = hd_capture_own_mailbox();
    w->mailbox = NULL;
    if (other != NULL && is_this_thread(other->thread)) {
        w->thread_memory = NULL;
        return true;
    }
    w->thread_memory = atomic_exchange(&w->left, NULL);
    if (w->thread_memory == NULL) {
        w->thread_memory = hd_os_memory_take(bytes);
    }
    if (w->thread_memory == NULL) {
        return false;
    }
    if (hd_capture_thread_enter(w->thread_memory, &w->mailbox) != 0) {
        hd_os_memory_give(w->thread_memory, bytes);
        return false;
    }
    return true;
}

static void set_name(struct hd_watch *w, const char *name) {
    size_t n = strnlen(name, sizeof w->name - 1);
    for (size_t i = 0; i <= n; i++) {
        __atomic_store_n(&w->name[i], i < n ? name[i] : '\0', __ATOMIC_RELAXED);
    }
}

static void start_loop(struct hd_run *r, struct hd_watch *w, uint64_t start_ns) {
    uint64_t since_ns = hd_os_now_ns();
    start_ns = start_ns == HD_SINCE_LAUNCH ? launched_ns(r, since_ns) : start_ns;
    atomic_store_explicit(&w->since_ns, since_ns, memory_order_relaxed);
    uint64_t ticks = r->ticks_are_tsc ? hd_ticks_read() : since_ns;
    uint64_t ago_ns = since_ns > start_ns ? since_ns - start_ns : 0;
    uint64_t rate = atomic_load_explicit(&r->clock.ns_per_tick_32, memory_order_relaxed);
    hd_loop_init(&w->loop, &r->channel.wake, hd_thread_id_self(), r->ticks_are_tsc, rate,
                 ticks - hd_ticks_ratio_32(ago_ns, rate), true);
    w->loop.frames.period_ns = r->settings.frame_period_ns;
}

/* Takes the new watch back if the monitor has already closed all watches for a stop, because the monitor will
 * not see the new one. Returns true if it took the watch back. */
static bool take_back(struct hd_run *r, struct hd_watch *w) {
    uint32_t use = HD_WATCH_NEW;
    if (!atomic_load(&r->channel.stop.watches_closed) ||
        !atomic_compare_exchange_strong(&w->use, &use, HD_WATCH_CLAIMED)) {
        return false;
    }
    if (w->mailbox != NULL) {
        hd_capture_thread_closed(w->mailbox);
    }
    atomic_store(&w->use, HD_WATCH_FREE);
    give_left_over();
    return true;
}

static struct hd_watch *add(struct hd_run *r, const char *name, uint64_t threshold_ns, uint64_t start_ns) {
    struct hd_watch *w = hd_watch_claim(&r->watches);
    if (w == NULL) {
        return NULL;
    }
    give_left_over();
    if (!enter_thread(w)) {
        atomic_store(&w->use, HD_WATCH_FREE);
        return NULL;
    }
    w->generation++;
    atomic_store(&w->ping, NULL);
    hd_label_set(&w->label, 0, NULL, NULL);
    w->threshold_ns = threshold_ns;
    set_name(w, name);
    start_loop(r, w, start_ns);
    atomic_store(&w->use, HD_WATCH_NEW);
    if (take_back(r, w)) {
        return NULL;
    }
    hd_run_wake(r);
    return w;
}

struct hd_watch *hd_watch_add(struct hd_run *r, const char *name, uint64_t threshold_ns, uint64_t start_ns) {
    struct hd_watch *w = NULL;
    if (hd_watch_enter(r)) {
        w = add(r, name, threshold_ns, start_ns);
        hd_watch_leave(r);
    }
    return w;
}

void hd_watch_wait_open(struct hd_run *r, struct hd_watch *w) {
    if (hd_watch_enter(r)) {
        hd_futex_wait_while(&w->use, HD_WATCH_NEW, hd_os_now_ns() + HD_READY_NS);
        hd_watch_leave(r);
    }
}

/* Blocks the calling thread until the monitor has closed the watch, and no longer uses its mailbox. Returns
 * false if the monitor needs longer than HD_CALL_NS. */
static bool wait_closed(struct hd_run *r, struct hd_watch *w) {
    uint32_t use = atomic_load(&w->use);
    while (use == HD_WATCH_NEW || use == HD_WATCH_ON) {
        if (atomic_compare_exchange_strong(&w->use, &use, HD_WATCH_LEAVING)) {
            hd_run_wake(r);
            hd_futex_wait_while(&w->use, HD_WATCH_LEAVING, hd_os_now_ns() + HD_CALL_NS);
            return atomic_load(&w->use) != HD_WATCH_LEAVING;
        }
    }
    return true;
}

static void remove_watch(struct hd_run *r, struct hd_watch *w) {
    /* False: the handle is from before a restart of Hangdog, and the slot now has a watch of another thread.
     */
    bool is_ours = is_this_thread(hd_loop_thread(&w->loop));
    /* read before the watch is closed, because a closed watch's slot may get another watch */
    void *memory = w->thread_memory;
    if (!is_ours || wait_closed(r, w)) {
        give_left_over();
        return;
    }
    struct hd_mailbox *mailbox = memory != NULL ? hd_capture_own_mailbox() : NULL;
    if (mailbox == NULL || hd_capture_thread_leave(mailbox) != 0) {
        return; /* the signal handler uses `memory` at this moment, so `memory` is never freed */
    }
    /* The slot's next watch takes this memory. If an earlier watch has left memory in the slot, no thread
     * uses that memory, and this thread frees it. */
    memory = atomic_exchange(&w->left, memory);
    if (memory != NULL) {
        hd_os_memory_give(memory, hd_capture_thread_bytes());
    }
}

void hd_watch_remove(struct hd_run *r, struct hd_watch *w) {
    if (hd_watch_enter(r)) {
        remove_watch(r, w);
        hd_watch_leave(r);
    } else {
        hd_watch_leave_stopped();
    }
}
