/* SPDX-License-Identifier: MIT
 *
 * The pinging thread is a thread of the program that runs our code. Its post may lock, allocate, and write to
 * the program's descriptors, which the monitor and the worker do not have. The thread ends within a period of
 * a stop.
 */
#include "control/ping.h"
#include "watch/futex.h"
#include "watch/watching.h"

#include <errno.h>

#define INDEX_BITS 8

/* The pinging thread and the watch share it, and the last of them gives the memory back. */
struct hd_ping {
    struct hd_run *run;
    struct hd_watch *watch;
    hangdog_post post;
    void *context;
    uint64_t period_ns;
    _Atomic uint32_t owners;
    _Atomic uint32_t ends;    /* a futex word */
    _Atomic uint32_t posting; /* the post runs; a futex word */
    _Atomic uint32_t number;  /* of the newest ping */
    /* The newest ping has no answer yet. The thread that clears it has owned the loop's word until then; the
     * thread that sets it owns the word until the post. */
    _Atomic bool pending;
};

/* Pings of all runs so far: an answer that comes late does not fit a later run's ping. */
static _Atomic uint32_t pings;

static void release(struct hd_ping *p) {
    if (atomic_fetch_sub(&p->owners, 1) == 1) {
        hd_os_memory_give(p, sizeof *p);
    }
}

/* On the loop's own thread, as a task of the loop. The argument is a number, since the watch may be gone. */
static void answer(void *argument) {
    uint64_t token = (uint64_t)(uintptr_t)argument;
    unsigned index = (unsigned)(token & (HD_LOOPS_MAX - 1));
    struct hd_run *r = hd_run_current();
    if (r == NULL || !hd_watch_enter(r)) {
        return;
    }
    struct hd_watch *w = index < hd_watch_slots(&r->watches) ? hd_watch_at(&r->watches, index) : NULL;
    struct hd_ping *p = w != NULL ? atomic_load(&w->ping) : NULL;
    if (p != NULL && atomic_load(&p->number) == (uint32_t)(token >> INDEX_BITS) && atomic_load(&p->pending)) {
        hd_loop_mark(&w->loop, HANGDOG_BEFORE_WAITING);
        atomic_store(&p->pending, false);
    }
    hd_watch_leave(r);
}

/* A turn starts with the ping. False: the watch is over. */
static bool start_turn(struct hd_ping *p) {
    if (!hd_watch_enter(p->run)) {
        return false;
    }
    bool own = atomic_load(&p->watch->ping) == p;
    if (own) {
        atomic_store(&p->number, atomic_fetch_add(&pings, 1) + 1);
        hd_loop_mark(&p->watch->loop, HANGDOG_AFTER_WAITING);
        atomic_store(&p->pending, true);
    }
    hd_watch_leave(p->run);
    return own;
}

/* The loop takes no tasks, which is not a hang. */
static void take_back(struct hd_ping *p) {
    if (hd_watch_enter(p->run)) {
        if (atomic_load(&p->watch->ping) == p && atomic_load(&p->pending)) {
            hd_loop_mark(&p->watch->loop, HANGDOG_BEFORE_WAITING);
            atomic_store(&p->pending, false);
        }
        hd_watch_leave(p->run);
    }
}

static void post(struct hd_ping *p) {
    uint64_t token = (uint64_t)atomic_load(&p->number) << INDEX_BITS | p->watch->index;
    atomic_store(&p->posting, 1);
    int rc = atomic_load(&p->ends) == 0 ? p->post(p->context, answer, (void *)(uintptr_t)token) : 0;
    atomic_store(&p->posting, 0);
    hd_os.futex_wake((uint32_t *)&p->posting, 1, false);
    if (rc != 0) {
        take_back(p);
    }
}

static void *run_pings(void *ping) {
    struct hd_ping *p = ping;
    hd_os.set_thread_name("hangdog-ping");
    post(p); /* the first ping's turn started with the watch */
    for (;;) {
        hd_futex_wait_while(&p->ends, 0, hd_os_now_ns() + p->period_ns);
        if (atomic_load(&p->ends) != 0 || !hd_run_has(p->run)) {
            break;
        }
        if (!atomic_load(&p->pending)) {
            if (!start_turn(p)) {
                break;
            }
            post(p);
        }
    }
    release(p);
    return NULL;
}

int hd_ping_start(struct hd_run *r, struct hd_watch *w, hangdog_post post_task, void *context) {
    if (atomic_load(&w->ping) != NULL) {
        return -EALREADY;
    }
    struct hd_ping *p = hd_os_memory_take(sizeof *p);
    if (p == NULL) {
        return -ENOMEM;
    }
    p->run = r;
    p->watch = w;
    p->post = post_task;
    p->context = context;
    p->period_ns = r->settings.ping_period_ns;
    p->owners = 2;
    p->number = atomic_fetch_add(&pings, 1) + 1;
    p->pending = true;
    atomic_store(&w->ping, p);
    int rc = hd_os_thread_start_shared(run_pings, p);
    if (rc != 0) {
        atomic_store(&w->ping, NULL);
        hd_os_memory_give(p, sizeof *p);
    }
    return rc;
}

void hd_ping_stop(struct hd_watch *w) {
    bool own = hd_thread_id_equal(hd_loop_thread(&w->loop),
                                  hd_thread_id_self()); /* else another thread has the slot by now */
    struct hd_ping *p = own ? atomic_exchange(&w->ping, NULL) : NULL;
    if (p != NULL) {
        atomic_store(&p->ends, 1);
        hd_os.futex_wake((uint32_t *)&p->ends, 1, false);
        hd_futex_wait_while(&p->posting, 1, hd_os_now_ns() + HD_CALL_NS);
        release(p);
    }
}
