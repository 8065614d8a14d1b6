/* SPDX-License-Identifier: MIT */
#include "watch/live_request.h"

#include <errno.h>
#include <limits.h>

#include "watch/run.h"

#define PATIENCE_NS (2 * HD_NS_PER_S) /* for another thread's request, and then for the worker */

static void become(struct hd_live_request *q, enum hd_live_phase phase) {
    atomic_store(&q->phase, phase);
    hd_os.futex_wake((uint32_t *)&q->phase, INT_MAX, false);
}

static bool claim(struct hd_live_request *q, uint64_t until_ns) {
    for (uint32_t was = HD_LIVE_FREE; !atomic_compare_exchange_strong(&q->phase, &was, HD_LIVE_CLAIMED);
         was = HD_LIVE_FREE) {
        if (hd_os_now_ns() >= until_ns) {
            return false;
        }
        hd_os.futex_wait((uint32_t *)&q->phase, was, until_ns, false);
    }
    return true;
}

long hd_live_request_send(struct hd_run *r, char *buffer, size_t size, bool as_text) {
    struct hd_live_request *q = &r->channel.live;
    if (!claim(q, hd_os_now_ns() + PATIENCE_NS)) {
        return -EBUSY;
    }
    q->buffer = buffer;
    q->size = size;
    q->as_text = as_text;
    atomic_store(&q->phase, HD_LIVE_REQUESTED);
    atomic_fetch_add(&r->channel.worker_wake, 1);
    hd_os.futex_wake((uint32_t *)&r->channel.worker_wake, 1, false);
    hd_run_wait_while(&q->phase, HD_LIVE_REQUESTED, hd_os_now_ns() + PATIENCE_NS);
    uint32_t requested = HD_LIVE_REQUESTED;
    if (atomic_compare_exchange_strong(&q->phase, &requested, HD_LIVE_FREE)) {
        become(q, HD_LIVE_FREE);
        return -ETIMEDOUT;
    }
    /* The buffer is the worker's for as long as it writes, which no disk delays. */
    hd_run_wait_while(&q->phase, HD_LIVE_TAKEN, UINT64_MAX);
    long result = q->result;
    become(q, HD_LIVE_FREE);
    return result;
}

struct hd_live_request *hd_live_request_take(struct hd_run *r) {
    struct hd_live_request *q = &r->channel.live;
    uint32_t requested = HD_LIVE_REQUESTED;
    return atomic_compare_exchange_strong(&q->phase, &requested, HD_LIVE_TAKEN) ? q : NULL;
}

void hd_live_request_answer(struct hd_live_request *q, long result) {
    q->result = result;
    become(q, HD_LIVE_DONE);
}
