/* SPDX-License-Identifier: MIT
 *
 * Any thread, at any moment, for less than 100 ms. Allocates blocks of watches, and the memory by which a
 * watched thread answers a signal.
 */
#include "watch/watch.h"

#include <string.h>

#include "capture/mailbox.h"
#include "watch/run.h"

_Static_assert(sizeof(struct hd_watch) % 8 == 0, "hd_os_memory_clear()");

static struct hd_watch *block_of(const struct hd_watch_table *t, unsigned index) {
    return index < HD_BLOCK_LOOPS
               ? (struct hd_watch *)(uintptr_t)t->watch
               : atomic_load_explicit(&t->more[index / HD_BLOCK_LOOPS - 1], memory_order_acquire);
}

struct hd_watch *hd_watch_at(const struct hd_watch_table *t, unsigned index) {
    return &block_of(t, index)[index % HD_BLOCK_LOOPS];
}

void *hd_watch_monitor_memory(const struct hd_watch_table *t, unsigned index) {
    return block_of(t, index) + HD_BLOCK_LOOPS;
}

struct hd_watch *hd_watch_next_on(const struct hd_watch_table *t, unsigned *i) {
    for (unsigned n = hd_watch_slots(t); *i < n;) {
        struct hd_watch *w = hd_watch_at(t, (*i)++);
        if (atomic_load_explicit(&w->use, memory_order_acquire) == HD_WATCH_ON) {
            return w;
        }
    }
    return NULL;
}

static size_t block_bytes(const struct hd_watch_table *t) {
    return HD_BLOCK_LOOPS * (sizeof(struct hd_watch) + t->monitor_bytes);
}

/* Thread memory in slots that had no further watch. The monitor that might have read it has ended. */
static void give_left_memory(struct hd_watch_table *t) {
    for (unsigned i = 0, n = atomic_load(&t->slots); i < n; i++) {
        void *memory = atomic_load(&hd_watch_at(t, i)->left);
        if (memory != NULL) {
            hd_os_memory_give(memory, hd_capture_thread_bytes());
        }
    }
}

void hd_watch_clear_all(struct hd_watch_table *t) {
    give_left_memory(t);
    for (unsigned i = 0; i < HD_BLOCKS - 1 && t->more[i] != NULL; i++) {
        hd_os_memory_clear(t->more[i], block_bytes(t));
    }
}

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

/* Takes the block that slot `i` is in, if no thread has done so. False: there is no memory for it. */
static bool have_block(struct hd_run *r, unsigned i) {
    if (i < HD_BLOCK_LOOPS || atomic_load(&r->watches.more[i / HD_BLOCK_LOOPS - 1]) != NULL) {
        return true;
    }
    size_t bytes = block_bytes(&r->watches);
    struct hd_watch *none = NULL, *made = hd_os_memory_take(bytes);
    if (made != NULL &&
        !atomic_compare_exchange_strong(&r->watches.more[i / HD_BLOCK_LOOPS - 1], &none, made)) {
        hd_os_memory_give(made, bytes); /* another thread was quicker */
    }
    return made != NULL;
}

static struct hd_watch *claim(struct hd_run *r) {
    for (unsigned i = 0; i < HD_LOOPS_MAX && have_block(r, i); i++) {
        struct hd_watch *w = hd_watch_at(&r->watches, i);
        uint32_t free = HD_WATCH_FREE;
        if (atomic_compare_exchange_strong(&w->use, &free, HD_WATCH_CLAIMED)) {
            uint32_t slots = atomic_load(&r->watches.slots);
            while (slots <= i && !atomic_compare_exchange_weak(&r->watches.slots, &slots, i + 1)) {
            }
            w->index = (uint8_t)i;
            return w;
        }
    }
    return NULL;
}

static bool is_this_thread(hd_thread_id thread) {
    return hd_thread_id_equal(thread, hd_thread_id_self());
}

/* Gives the memory back of a watch on the calling thread that a stop has ended. */
static void give_left_over(void) {
    void *memory = hd_capture_thread_left_over();
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
        (void)hd_capture_thread_leave(own); /* not closed yet: its memory is lost */
    }
}

/* When the loop of the calling thread started. The main thread launches from the run's start until a loop is
 * idle. */
static uint64_t launched_ns(const struct hd_run *r, uint64_t now_ns) {
    uint64_t started_ns = r->record->options.started_ns;
    bool launches = hd_os.get_tid() == hd_os.get_pid() && atomic_load(&r->record->turns.launch_ns) == 0;
    return launches && now_ns - started_ns < HD_LAUNCH_KNOWN_NS ? started_ns : now_ns;
}

struct hd_watch *hd_watch_of_thread(const struct hd_watch_table *t, hd_thread_id thread) {
    unsigned i = 0;
    struct hd_watch *w;
    do {
        w = hd_watch_next_on(t, &i);
    } while (w != NULL && !hd_thread_id_equal(hd_loop_thread(&w->loop), thread));
    return w;
}

static struct hd_watch *add(struct hd_run *r, const char *name, uint64_t threshold_ns, uint64_t start_ns) {
    struct hd_watch *w = claim(r);
    if (w == NULL) {
        return NULL;
    }
    give_left_over();
    size_t bytes = hd_capture_thread_bytes();
    const struct hd_mailbox *other = hd_capture_own_mailbox();
    bool second = other != NULL && is_this_thread(other->thread); /* signals find the first watch's mailbox */
    w->mailbox = NULL;
    w->thread_memory = second ? NULL : atomic_exchange(&w->left, NULL);
    if (!second && w->thread_memory == NULL) {
        w->thread_memory = hd_os_memory_take(bytes);
    }
    if (!second &&
        (w->thread_memory == NULL || hd_capture_thread_enter(w->thread_memory, &w->mailbox) != 0)) {
        if (w->thread_memory != NULL) {
            hd_os_memory_give(w->thread_memory, bytes);
        }
        atomic_store(&w->use, HD_WATCH_FREE);
        return NULL;
    }
    w->generation++;
    atomic_store(&w->ping, NULL);
    w->threshold_ns = threshold_ns;
    size_t n = strnlen(name, sizeof w->name - 1);
    for (size_t i = 0; i <= n; i++) {
        __atomic_store_n(&w->name[i], i < n ? name[i] : '\0', __ATOMIC_RELAXED);
    }
    uint64_t since_ns = hd_os_now_ns();
    start_ns = start_ns == HD_SINCE_LAUNCH ? launched_ns(r, since_ns) : start_ns;
    atomic_store_explicit(&w->since_ns, since_ns, memory_order_relaxed);
    uint64_t ticks = r->ticks_are_tsc ? hd_ticks_read() : since_ns;
    uint64_t ago_ns = since_ns > start_ns ? since_ns - start_ns : 0;
    uint64_t rate = atomic_load_explicit(&r->clock.ns_per_tick_32, memory_order_relaxed);
    hd_loop_init(&w->loop, &r->channel.wake, hd_thread_id_self(), r->ticks_are_tsc, rate,
                 ticks - hd_clock_ratio_32(ago_ns, rate), true);
    w->loop.frames.period_ns = r->settings.frame_period_ns;
    uint32_t use = HD_WATCH_NEW;
    atomic_store(&w->use, HD_WATCH_NEW);
    if (atomic_load(&r->channel.closed) && atomic_compare_exchange_strong(&w->use, &use, HD_WATCH_CLAIMED)) {
        if (w->mailbox != NULL) { /* it came after the monitor had closed all: this thread closes it */
            hd_capture_thread_closed(w->mailbox);
        }
        atomic_store(&w->use, HD_WATCH_FREE);
        give_left_over();
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
        hd_run_wait_while(&w->use, HD_WATCH_NEW, hd_os_now_ns() + HD_READY_NS);
        hd_watch_leave(r);
    }
}

static void remove_watch(struct hd_run *r, struct hd_watch *w) {
    if (!is_this_thread(
            hd_loop_thread(&w->loop))) { /* a handle of an earlier run: the slot has another watch */
        give_left_over();
        return;
    }
    void *memory = w->thread_memory; /* read while the slot is ours */
    uint32_t use = atomic_load(&w->use);
    bool late = false;
    while (use == HD_WATCH_NEW || use == HD_WATCH_ON) {
        if (!atomic_compare_exchange_strong(&w->use, &use, HD_WATCH_LEAVING)) {
            continue;
        }
        hd_run_wake(r);
        uint64_t until_ns = hd_os_now_ns() + HD_CALL_NS;
        hd_run_wait_while(&w->use, HD_WATCH_LEAVING, until_ns);
        late = atomic_load(&w->use) == HD_WATCH_LEAVING;
        break;
    }
    if (!late) { /* the monitor has closed it, and its mailbox says so */
        give_left_over();
        return;
    }
    struct hd_mailbox *mailbox = memory != NULL ? hd_capture_own_mailbox() : NULL;
    if (mailbox == NULL || hd_capture_thread_leave(mailbox) != 0) {
        return; /* a handler runs on that memory, which is lost */
    }
    /* the slot's next watch takes it; no thread uses what an earlier one left there */
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
