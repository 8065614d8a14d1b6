/* SPDX-License-Identifier: MIT
 *
 * The newest hang events of a run. The worker writes them and waits for no reader; any thread reads them by
 * their numbers. No lock, no allocation.
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
    _Atomic uint64_t version; /* twice the event's number; one less while the worker writes it */
    _Atomic uint64_t word[HD_EVENT_WORDS];
};

struct hd_events {
    _Atomic uint64_t newest; /* number of the newest event; the first has 1 */
    _Atomic uint32_t wakes;  /* a futex word */
    struct hd_event_slot slot[HD_EVENTS_KEPT];
};

/* The worker: adds an event, and sets its number. */
void hd_events_post(struct hd_events *e, hangdog_event *event);
/* Wakes the readers: there is a new event, or the run is over. */
void hd_events_wake(struct hd_events *e);
/* Reads the oldest event that is still there and newer than event->number. False: there is none yet. Any
 * thread; async-signal-safe. */
bool hd_events_read(struct hd_events *e, hangdog_event *event);

#endif
