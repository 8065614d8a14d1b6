/* SPDX-License-Identifier: MIT */
#include "watch/live_request.h"

#include <errno.h>

#include "os/os.h"
#include "watch/futex.h"

/* the longest time that a thread is blocked until another thread's request is over, and again until the
 * worker takes its own request */
#define PATIENCE_NS (2 * HD_NS_PER_S)

static void set_phase(struct hd_live_request *q, enum hd_live_phase phase) {
    atomic_store(&q->phase, phase);
    hd_futex_wake_all(&q->phase);
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

long hd_live_request_send(struct hd_live_request *q, _Atomic uint32_t *worker_wake, char *buffer, size_t size,
                          bool as_text) {
    if (!claim(q, hd_os_now_ns() + PATIENCE_NS)) {
        return -EBUSY;
    }
    q->buffer = buffer;
    q->size = size;
    q->as_text = as_text;
    atomic_store(&q->phase, HD_LIVE_REQUESTED);
    hd_futex_add_and_wake(worker_wake);
    hd_futex_wait_while(&q->phase, HD_LIVE_REQUESTED, hd_os_now_ns() + PATIENCE_NS);
    uint32_t requested = HD_LIVE_REQUESTED;
    if (atomic_compare_exchange_strong(&q->phase, &requested, HD_LIVE_FREE)) {
        set_phase(q, HD_LIVE_FREE);
        return -ETIMEDOUT;
    }
    /* This call has no time limit, because the worker now writes into the caller's buffer. No disk can block
     * the worker while it writes there. */
    hd_futex_wait_while(&q->phase, HD_LIVE_TAKEN, UINT64_MAX);
    long result = q->result;
    set_phase(q, HD_LIVE_FREE);
    return result;
}

bool hd_live_request_take(struct hd_live_request *q) {
    uint32_t requested = HD_LIVE_REQUESTED;
    return atomic_compare_exchange_strong(&q->phase, &requested, HD_LIVE_TAKEN);
}

void hd_live_request_answer(struct hd_live_request *q, long result) {
    q->result = result;
    set_phase(q, HD_LIVE_DONE);
}
