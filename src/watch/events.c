/* SPDX-License-Identifier: MIT
 *
 * One thread, the worker, writes events, and any number of threads read them. The version in each struct
 * hd_event_slot works as a sequence lock. Each reader passes the number of the event that it has read last.
 */
#include "watch/events.h"

#include <string.h>

#include "watch/futex.h"

void hd_events_wake(struct hd_events *e) {
    atomic_fetch_add(&e->wakes, 1);
    hd_futex_wake_all(&e->wakes);
}

void hd_events_post(struct hd_events *e, hangdog_event *event) {
    uint64_t words[HD_EVENT_WORDS], number = atomic_load_explicit(&e->newest, memory_order_relaxed) + 1;
    struct hd_event_slot *slot = &e->slot[number % HD_EVENTS_KEPT];
    event->number = number;
    memcpy(words, event, sizeof words);
    atomic_store_explicit(&slot->version, 2 * number - 1, memory_order_relaxed);
    /* The memory order of these stores is release: if a reader sees one of these words, the reader also sees
     * the odd version. */
    for (unsigned i = 0; i < HD_EVENT_WORDS; i++) {
        atomic_store_explicit(&slot->word[i], words[i], memory_order_release);
    }
    atomic_store_explicit(&slot->version, 2 * number, memory_order_release);
    atomic_store_explicit(&e->newest, number, memory_order_release);
    hd_events_wake(e);
}

bool hd_events_read(struct hd_events *e, hangdog_event *event) {
    uint64_t words[HD_EVENT_WORDS], newest;
    while ((newest = atomic_load_explicit(&e->newest, memory_order_acquire)) != 0) {
        /* If the reader's event number is above the newest event's, it is from before a restart of Hangdog.
         * In this case the reader starts at the oldest event that is kept. */
        uint64_t after = event->number <= newest ? event->number : 0;
        uint64_t oldest = newest > HD_EVENTS_KEPT ? newest - HD_EVENTS_KEPT : 0;
        uint64_t number = (after > oldest ? after : oldest) + 1;
        if (number > newest) {
            return false;
        }
        struct hd_event_slot *slot = &e->slot[number % HD_EVENTS_KEPT];
        uint64_t version = atomic_load_explicit(&slot->version, memory_order_acquire);
        for (unsigned i = 0; i < HD_EVENT_WORDS; i++) {
            words[i] = atomic_load_explicit(&slot->word[i], memory_order_acquire);
        }
        if (version == 2 * number && version == atomic_load_explicit(&slot->version, memory_order_relaxed)) {
            memcpy(event, words, sizeof words);
            return true;
        }
    }
    return false;
}
