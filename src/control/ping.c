/* SPDX-License-Identifier: MIT
 *
 * The pings come from a thread of the program that runs Hangdog's code. The program's `post` function may
 * lock, allocate, and write to the program's descriptors. The monitor and the worker may do none of that.
 * The pinging thread ends at most one period after a stop.
 */
#include "control/ping.h"
#include "watch/futex.h"
#include "watch/watching.h"

#include <errno.h>

#define INDEX_BITS 8

/* The pinging thread and the watch share this struct. The last of the two frees it. */
struct hd_ping {
    struct hd_run *run;
    struct hd_watch *watch;
    hangdog_post post;
    void *context;
    uint64_t period_ns;
    _Atomic uint32_t owners;
    _Atomic uint32_t ends;    /* a futex word: 1 once the pings are to end */
    _Atomic uint32_t posting; /* a futex word: 1 while `post` is running */
    _Atomic uint32_t number;  /* the number of the newest ping */
    /* True: the newest ping has no answer yet. Only one thread may mark the loop at a time. The answering
     * thread may do so until it clears this member. The pinging thread may do so from there until its next
     * post. */
    _Atomic bool pending;
};

/* The number of pings so far, over all starts of Hangdog. So a late answer never has the number of a ping
 * after a restart. */
static _Atomic uint32_t pings;

static void release(struct hd_ping *p) {
    if (atomic_fetch_sub(&p->owners, 1) == 1) {
        hd_os_memory_give(p, sizeof *p);
    }
}

/* The posted task, which the loop runs on its own thread. The argument is a number and not a pointer,
 * because the watch may have ended. */
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

/* Starts a turn of the loop for a new ping. Returns false if the watch has ended. */
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

/* Ends the turn of a ping that the loop did not accept, because that is no hang. */
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
    post(p); /* the first ping needs no start_turn, because its turn has started with the watch */
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
    /* false: another thread has the slot now */
    bool own = hd_thread_id_equal(hd_loop_thread(&w->loop), hd_thread_id_self());
    struct hd_ping *p = own ? atomic_exchange(&w->ping, NULL) : NULL;
    if (p != NULL) {
        atomic_store(&p->ends, 1);
        hd_os.futex_wake((uint32_t *)&p->ends, 1, false);
        hd_futex_wait_while(&p->posting, 1, hd_os_now_ns() + HD_CALL_NS);
        release(p);
    }
}
