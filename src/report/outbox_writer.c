/* SPDX-License-Identifier: MIT */
#include "report/outbox_writer.h"

#include <errno.h>
#include <string.h>

#include "os/os.h"

#define PATIENCE_NS (1 * HD_NS_PER_S)

static int put(void *outbox, const char *bytes, size_t n) {
    struct hd_outbox *o = outbox;
    uint32_t used = atomic_load_explicit(&o->bytes, memory_order_relaxed);
    if (n > sizeof o->text - used) {
        return -EMSGSIZE;
    }
    memcpy(o->text + used, bytes, n);
    atomic_store_explicit(&o->bytes, used + (uint32_t)n, memory_order_relaxed);
    return 0;
}

/* Takes the outbox. A process that died while it filled the outbox never gives it back: then this one takes
 * it after the wait. */
static bool take(struct hd_outbox *o) {
    uint64_t until_ns = hd_os_now_ns() + PATIENCE_NS;
    for (;;) {
        uint32_t state = HD_OUTBOX_EMPTY;
        if (atomic_compare_exchange_strong(&o->state, &state, HD_OUTBOX_FILLING)) {
            return true;
        }
        if (hd_os.futex_wait((uint32_t *)&o->state, state, until_ns, true) == -ETIMEDOUT) {
            return state == HD_OUTBOX_FILLING;
        }
    }
}

int hd_outbox_write(struct hd_outbox *o, const struct hd_report *r, struct hd_report_scratch *scratch) {
    if (!take(o)) {
        return -ETIMEDOUT;
    }
    atomic_store_explicit(&o->bytes, 0, memory_order_relaxed);
    int rc = hd_report_write(r, scratch, (struct hd_sink){.put = put, .ctx = o});
    atomic_store_explicit(&o->state, rc == 0 ? HD_OUTBOX_FULL : HD_OUTBOX_EMPTY, memory_order_release);
    hd_os.futex_wake((uint32_t *)&o->state, 2, true); /* the runner, and the next worker */
    return rc;
}
