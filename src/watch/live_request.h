/* SPDX-License-Identifier: MIT
 *
 * A thread of the program requests a live report, and the worker writes the report into that thread's memory.
 * One request at a time. No allocation.
 */
#ifndef HD_LIVE_REQUEST_H
#define HD_LIVE_REQUEST_H

#include <stdatomic.h>

#include "base/types.h"

enum hd_live_phase {
    HD_LIVE_FREE,
    HD_LIVE_CLAIMED,   /* a thread fills it */
    HD_LIVE_REQUESTED, /* the thread waits, and may still withdraw its request */
    HD_LIVE_TAKEN,     /* the worker writes into the buffer */
    HD_LIVE_DONE,      /* the thread reads the result */
};

struct hd_live_request {
    _Atomic uint32_t phase; /* enum hd_live_phase; a futex word */
    char *buffer;
    size_t size;
    bool as_text;
    long result; /* the document's bytes, or a negative errno value */
};

/* Sends a request, wakes the worker by its futex word, waits for the result and returns it. Returns -EBUSY
 * where another thread's request is not over, and -ETIMEDOUT where the worker waits for a disk. Any thread.
 */
long hd_live_request_send(struct hd_live_request *q, _Atomic uint32_t *worker_wake, char *buffer, size_t size,
                          bool as_text);

/* The worker: takes a request. False: there is no new one. */
bool hd_live_request_take(struct hd_live_request *q);
/* The worker: answers the request that it has taken. */
void hd_live_request_answer(struct hd_live_request *q, long result);

#endif
