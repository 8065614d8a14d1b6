/* SPDX-License-Identifier: MIT
 *
 * The request for a live report, which shows all threads of the process at the time of the request. A thread
 * of the program sends the request, and the worker writes the report into that thread's buffer. There is one
 * request at a time. These functions allocate no memory.
 */
#ifndef HD_LIVE_REQUEST_H
#define HD_LIVE_REQUEST_H

#include <stdatomic.h>

#include "base/types.h"

enum hd_live_phase {
    HD_LIVE_FREE,
    HD_LIVE_CLAIMED,   /* a thread of the program has reserved the request, and sets its members */
    HD_LIVE_REQUESTED, /* the thread sleeps until the worker takes the request, and may still withdraw it */
    HD_LIVE_TAKEN,     /* the worker has taken the request, and writes into the thread's buffer */
    HD_LIVE_DONE,      /* the worker has written the result, and the thread reads it */
};

struct hd_live_request {
    _Atomic uint32_t phase; /* enum hd_live_phase; a futex word */
    char *buffer;
    size_t size;
    bool as_text;
    long result; /* the length of the report in bytes, or a negative errno value */
};

/* Sends a request, wakes the worker by its futex word `worker_wake`, sleeps until the worker has answered,
 * and returns its result. Returns -EBUSY if another thread's request is not over within 2 s. Returns
 * -ETIMEDOUT if the worker does not take this request within 2 s, for example because a disk blocks the
 * worker. Any thread. */
long hd_live_request_send(struct hd_live_request *q, _Atomic uint32_t *worker_wake, char *buffer, size_t size,
                          bool as_text);

/* Takes the request that a thread has sent. Returns false if there is none. On the worker thread. */
bool hd_live_request_take(struct hd_live_request *q);
/* Answers the request that hd_live_request_take has taken. On the worker thread. */
void hd_live_request_answer(struct hd_live_request *q, long result);

#endif
