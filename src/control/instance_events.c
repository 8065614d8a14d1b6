/* SPDX-License-Identifier: MIT
 *
 * hangdog_next_event, by which a thread of the program reads the events of hangs.
 */
#include <errno.h>
#include <string.h>

#include "watch/futex.h"
#include "watch/run.h"

/* Whether Hangdog has stopped. While it stops the worker may still write events, so the call then waits for
 * the stop, unless `timeout_ns` is 0. */
static bool is_over(const struct hd_run *r, uint64_t timeout_ns) {
    if (hd_run_has(r)) {
        return false;
    }
    if (timeout_ns != 0) {
        hd_run_wait_changed(hd_os_now_ns() + HD_CALL_NS);
    }
    return true;
}

static uint64_t until(uint64_t timeout_ns) {
    uint64_t now_ns = hd_os_now_ns();
    return timeout_ns < UINT64_MAX - now_ns ? now_ns + timeout_ns : UINT64_MAX;
}

/* Returns 0, -EAGAIN if no event came in time, or -ESRCH if Hangdog has stopped. */
static int next(struct hd_run *r, hangdog_event *event, uint64_t timeout_ns) {
    uint64_t until_ns = until(timeout_ns);
    struct hd_events *e = &r->channel.events;
    for (;;) {
        uint32_t seen = atomic_load(&e->wakes);
        bool over = is_over(r, timeout_ns);
        if (hd_events_read(e, event)) {
            return 0;
        }
        if (over) {
            return -ESRCH;
        }
        if (timeout_ns == 0 || hd_os_now_ns() >= until_ns) {
            return -EAGAIN;
        }
        hd_futex_wait_while(&e->wakes, seen, until_ns);
    }
}

int hangdog_next_event(hangdog_event *event, uint64_t timeout_ns) {
    struct hd_run *r = hd_run_last();
    if (event == NULL || event->size < offsetof(hangdog_event, type)) {
        return -EINVAL;
    }
    if (r == NULL || !hd_run_is_alive()) {
        return -ESRCH;
    }
    hangdog_event found = {.number = event->number};
    int rc = next(r, &found, timeout_ns);
    if (rc == 0) {
        found.size = event->size;
        memcpy(event, &found, event->size < sizeof found ? event->size : sizeof found);
    }
    return rc;
}
