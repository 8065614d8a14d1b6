/* SPDX-License-Identifier: MIT
 *
 * At any moment, from any thread; less than 100 ms. Nothing is allocated but a block of watches where there
 * are many, and what the watched thread answers by.
 */
#include "watch/watch.h"

#include <string.h>

#include "capture/mailbox.h"
#include "watch/run.h"

#define BLOCK_BYTES (HD_BLOCK_LOOPS * sizeof(struct hd_watch))
_Static_assert(BLOCK_BYTES % 8 == 0, "hd_os_memory_clear()");

/* What threads left in slots that had no next watch: the monitor that might have read it has ended. */
static void give_what_is_left(struct hd_watch_table *t) {
    for (unsigned i = 0, n = atomic_load(&t->slots); i < n; i++) {
        void *memory = atomic_load(&hd_watch_at(t, i)->left);
        if (memory != NULL) {
            hd_os_memory_give(memory, hd_capture_thread_bytes());
        }
    }
}

void hd_watch_clear_all(struct hd_watch_table *t) {
    give_what_is_left(t);
    for (unsigned i = 0; i < HD_BLOCKS - 1 && t->more[i] != NULL; i++) {
        hd_os_memory_clear(t->more[i], BLOCK_BYTES);
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

/* The block that slot `i` is in is there from now on; false: there is no memory for it. */
static bool have_block(struct hd_run *r, unsigned i) {
    if (i < HD_BLOCK_LOOPS || atomic_load(&r->watches.more[i / HD_BLOCK_LOOPS - 1]) != NULL) {
        return true;
    }
    struct hd_watch *none = NULL, *made = hd_os_memory_take(BLOCK_BYTES);
    if (made != NULL &&
        !atomic_compare_exchange_strong(&r->watches.more[i / HD_BLOCK_LOOPS - 1], &none, made)) {
        hd_os_memory_give(made, BLOCK_BYTES); /* another thread was quicker */
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

/* What a watch on the calling thread has left that a stop has ended. */
static void give_left_over(void) {
    void *memory = hd_capture_thread_left_over();
    if (memory != NULL) {
        hd_os_memory_give(memory, hd_capture_thread_bytes());
    }
}

/* A stop goes on, or is over: our stack is not read any more when this returns. */
void hd_watch_leave_stopped(void) {
    uint64_t until_ns = hd_os_now_ns() + HD_CALL_NS;
    hd_run_wait_changed(until_ns);
    give_left_over();
    struct hd_mailbox *own = hd_capture_own_mailbox();
    if (own != NULL && hd_thread_id_equal(own->thread, hd_thread_id_self())) {
        (void)hd_capture_thread_leave(own); /* not closed yet: better lost */
    }
}

/* What the main thread did since the start was the launch, if no loop was idle yet. */
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
    bool second =
        other != NULL &&
        hd_thread_id_equal(other->thread, hd_thread_id_self()); /* signals find the first one's mailbox */
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
        if (w->mailbox != NULL) { /* it came after a stop's last look: nobody else closes it */
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
    if (!hd_thread_id_equal(
            hd_loop_thread(&w->loop),
            hd_thread_id_self())) { /* a handle of a run before: the slot is another thread's by now */
        give_left_over();
        return;
    }
    void *memory = w->thread_memory; /* read before the slot is given back: it may be another's at once */
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
    if (!late) { /* the monitor has closed it, for us or for a stop, and its mailbox says so */
        give_left_over();
        return;
    }
    struct hd_mailbox *mailbox = memory != NULL ? hd_capture_own_mailbox() : NULL;
    if (mailbox == NULL || hd_capture_thread_leave(mailbox) != 0) {
        return; /* a handler runs on that memory: better lost */
    }
    /* the slot's next watch has it; what an earlier one left there is nobody's any more */
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
