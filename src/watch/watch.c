/* SPDX-License-Identifier: MIT */
#include "watch/watch.h"

#include "capture/watched_thread.h"
#include "os/os.h"

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

struct hd_watch *hd_watch_of_thread(const struct hd_watch_table *t, hd_thread_id thread) {
    unsigned i = 0;
    struct hd_watch *w;
    do {
        w = hd_watch_next_on(t, &i);
    } while (w != NULL && !hd_thread_id_equal(hd_loop_thread(&w->loop), thread));
    return w;
}

static size_t block_bytes(const struct hd_watch_table *t) {
    return HD_BLOCK_LOOPS * (sizeof(struct hd_watch) + t->monitor_bytes);
}

/* Frees the thread memory that earlier watches have left in their slots, if no later watch took it. No other
 * thread reads that memory now, because only the monitor did, and it has ended. */
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

void hd_watch_give_blocks(struct hd_watch_table *t) {
    for (unsigned i = 0; i < HD_BLOCKS - 1 && t->more[i] != NULL; i++) {
        hd_os_memory_give(t->more[i], block_bytes(t));
        t->more[i] = NULL;
    }
}

/* Allocates the block of slot `i`, unless a thread has done so already. Returns false if memory for the block
 * cannot be allocated. */
static bool have_block(struct hd_watch_table *t, unsigned i) {
    if (i < HD_BLOCK_LOOPS || atomic_load(&t->more[i / HD_BLOCK_LOOPS - 1]) != NULL) {
        return true;
    }
    size_t bytes = block_bytes(t);
    struct hd_watch *none = NULL, *made = hd_os_memory_take(bytes);
    if (made != NULL && !atomic_compare_exchange_strong(&t->more[i / HD_BLOCK_LOOPS - 1], &none, made)) {
        /* another thread has stored a block here first, so this thread frees its own */
        hd_os_memory_give(made, bytes);
    }
    return made != NULL;
}

struct hd_watch *hd_watch_claim(struct hd_watch_table *t) {
    for (unsigned i = 0; i < HD_LOOPS_MAX && have_block(t, i); i++) {
        struct hd_watch *w = hd_watch_at(t, i);
        uint32_t free = HD_WATCH_FREE;
        if (atomic_compare_exchange_strong(&w->use, &free, HD_WATCH_CLAIMED)) {
            uint32_t slots = atomic_load(&t->slots);
            while (slots <= i && !atomic_compare_exchange_weak(&t->slots, &slots, i + 1)) {
            }
            w->index = (uint8_t)i;
            return w;
        }
    }
    return NULL;
}
