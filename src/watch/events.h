/* SPDX-License-Identifier: MIT
 *
 * The newest hang events since the start of Hangdog. The worker writes events, and no reader can block it.
 * Any thread reads events by their numbers. These functions take no lock and allocate no memory.
 */
#ifndef HD_EVENTS_H
#define HD_EVENTS_H

#include <stdatomic.h>

#include "base/types.h"
#include "hangdog/hangdog.h"

#define HD_EVENTS_KEPT 32
#define HD_EVENT_WORDS (sizeof(hangdog_event) / 8)
_Static_assert(sizeof(hangdog_event) % 8 == 0, "copied by words");

struct hd_event_slot {
    /* 2 n once event number n is written; 2 n - 1 while the worker writes event n */
    _Atomic uint64_t version;
    _Atomic uint64_t word[HD_EVENT_WORDS];
};

struct hd_events {
    /* the number of the newest event; the first event has number 1; 0: no event yet */
    _Atomic uint64_t newest;
    _Atomic uint32_t wakes; /* a futex word: how often the readers were woken so far */
    struct hd_event_slot slot[HD_EVENTS_KEPT];
};

/* Adds an event, sets event->number, and wakes the readers. On the worker thread. */
void hd_events_post(struct hd_events *e, hangdog_event *event);
/* Wakes the readers, because there is a new event or Hangdog stops. Any thread. */
void hd_events_wake(struct hd_events *e);
/* Reads the oldest event that is newer than event->number and not yet overwritten. Returns false if there is
 * no newer event yet. Any thread; async-signal-safe. */
bool hd_events_read(struct hd_events *e, hangdog_event *event);

#endif
