/* SPDX-License-Identifier: MIT
 *
 * A live report that a thread of the program asks for, and the worker writes into that thread's memory. One
 * at a time. No allocation.
 */
#ifndef HD_LIVE_REQUEST_H
#define HD_LIVE_REQUEST_H

#include <stdatomic.h>

#include "base/types.h"

enum hd_live_phase {
    HD_LIVE_FREE,
    HD_LIVE_CLAIMED,   /* by the thread that fills it */
    HD_LIVE_REQUESTED, /* that thread waits, and may still take it back */
    HD_LIVE_TAKEN,     /* the worker writes into the buffer */
    HD_LIVE_DONE,      /* for the thread */
};

struct hd_live_request {
    _Atomic uint32_t phase; /* enum hd_live_phase; a futex word */
    char *buffer;
    size_t size;
    bool as_text;
    long result; /* the document's bytes, or a negative errno value */
};

struct hd_run;

/* Asks, and waits for the answer. Its result; -EBUSY: another thread's request is not over; -ETIMEDOUT: the
 * worker is at a disk that does not answer. Any thread. */
long hd_live_request_send(struct hd_run *r, char *buffer, size_t size, bool as_text);

/* The worker: a request that it has taken now, NULL: there is none. And its answer. */
struct hd_live_request *hd_live_request_take(struct hd_run *r);
void hd_live_request_answer(struct hd_live_request *q, long result);

#endif
