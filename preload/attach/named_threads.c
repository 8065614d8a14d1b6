/* SPDX-License-Identifier: MIT
 *
 * Watching threads by their names. On the thread: a look at the clock, seldom at its name; once, when it
 * matches, what a watch needs. Its memory is never given back while the process lives, since the worker may
 * be at it: the next thread takes it over when the worker says so.
 */
#include "preload/attach/named_threads.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "preload/attach/attach.h"

#define LOOK_EVERY_NS (100 * HD_NS_PER_MS)
#define LEAVE_NS (100 * HD_NS_PER_MS)

enum use {
    FREE,
    CLAIMED, /* its thread is filling it, and finds then whether it was forgotten meanwhile */
    ON,
    LEFT, /* its thread has ended: the worker frees it */
    GONE, /* forgotten under its thread's hands, which may come back to it: nobody else gets it */
};

struct place {
    _Atomic uint32_t use;
    _Atomic uint32_t working; /* the worker is at it; a futex word for the leaver */
    struct hd_wait_table *waits;
};

#define HD_NAMED_PLACES 15 /* threads watched at a time */

struct hd_named {
    struct hd_record *record;
    uint32_t count;
    uint32_t ended_status; /* how well the loops were known whose threads have ended */
    struct place place[HD_NAMED_PLACES];
};

struct hd_named *hd_named;
static pthread_key_t at_exit;
static _Thread_local uint64_t looked_ns;

/* ---- the thread ------------------------------------------------------------------------------ */

/* Its stack vanishes, and the monitor may be reading it: also while a stop goes on, and when it was
 * forgotten.
 */
static void leave(void *of) {
    struct place *p = of;
    uint32_t use = atomic_load(&p->use), on = ON;
    hd_wait_table_self = NULL;
    if (use != ON && use != GONE) {
        return; /* a forked child's, wiped */
    }
    /* The place may be another thread's soon; where it was forgotten, its loop may be one's already. */
    struct hd_watch *watch = p->waits->watch;
    if (use == ON) {
        hd_loop_mark(p->waits->loop, HANGDOG_EXIT);
    }
    atomic_compare_exchange_strong(&p->use, &on, LEFT);
    if (hd_attach_is_filtered()) {
        return; /* no system call may be made, and the watch is over */
    }
    struct hd_run *run = hd_run_current();
    uint64_t until_ns = hd_os_now_ns() + LEAVE_NS;
    while (atomic_load(&p->working) != 0 &&
           hd_os.futex_wait((uint32_t *)&p->working, 1, until_ns, false) != -ETIMEDOUT) {
    }
    if (run != NULL && watch != NULL && atomic_load(&p->working) == 0) {
        hd_watch_remove(run, watch);
    } else {
        hd_watch_leave_stopped(); /* or the watch stays */
    }
}

static struct place *claim(void) {
    for (unsigned i = 0; i < HD_NAMED_PLACES; i++) {
        uint32_t free = FREE;
        if (atomic_compare_exchange_strong(&hd_named->place[i].use, &free, CLAIMED)) {
            return &hd_named->place[i];
        }
    }
    return NULL;
}

/* As a thread's that never waited. The two pointers stay: others may look. */
static bool clear(struct place *p) {
    struct hd_wait_table *t = p->waits != NULL ? p->waits : hd_wait_table_new();
    if (t == NULL) {
        return false;
    }
    p->waits = t;
    hd_wait_table_forget(t);
    t->stack_top = 0;
    t->named = true;
    atomic_store_explicit(&t->slow_path, false,
                          memory_order_relaxed); /* who had it may have ended in a handler */
    hd_stack_copies_init(&t->left);
    hd_recognition_init(t->recognition, hd_named->record);
    return true;
}

static bool watch(const char *name, uint64_t now_ns) {
    struct place *p = claim();
    if (p == NULL) {
        return false;
    }
    struct hd_run *run = hd_run_current(); /* after the claim: who ends this one forgets it */
    struct hd_watch *w = run != NULL && clear(p) ? hd_watch_add(run, name, 0, now_ns) : NULL;
    uint32_t claimed = CLAIMED;
    if (w == NULL || pthread_setspecific(at_exit, p) != 0) {
        if (w != NULL) {
            hd_watch_remove(run, w);
        }
        atomic_store(&p->use, FREE);
        return false;
    }
    p->waits->loop = &w->loop;
    p->waits->watch = w;
    if (!atomic_compare_exchange_strong(&p->use, &claimed, ON)) {
        p->waits->watch = NULL; /* of a run that is over, or, where this took long, of the next one */
        hd_watch_remove(run, w);
        return false;
    }
    hd_wait_table_self = p->waits;
    return true;
}

bool hd_named_look(void) {
    char name[HD_THREAD_NAME_BYTES];
    uint64_t now_ns = hd_os_now_ns();
    if (hd_named->count == 0 || now_ns - looked_ns < LOOK_EVERY_NS || hd_attach_is_filtered()) {
        return false;
    }
    looked_ns = now_ns;
    if (hd_os.get_thread_name(name) != 0 || hd_os.get_tid() == hd_os.get_pid()) {
        return false; /* the main thread is watched without a name, or not at all */
    }
    for (uint32_t i = 0; i < hd_named->count; i++) {
        if (strcmp(name, hd_named->record->options.thread[i]) == 0) {
            atomic_fetch_or(&hd_named->record->threads_seen, 1U << i);
            int saved = errno;
            bool watched = watch(name, now_ns);
            errno = saved;
            return watched;
        }
    }
    return false;
}

/* ---- the process ----------------------------------------------------------------------------- */

void hd_named_init(struct hd_record *r) {
    uint32_t count = r->options.threads < HD_THREADS_NAMED ? r->options.threads : HD_THREADS_NAMED;
    struct hd_named *n = count > 0 ? hd_os_memory_take(sizeof *n) : NULL;
    if (n != NULL && pthread_key_create(&at_exit, leave) == 0) {
        n->record = r;
        n->count = count;
        hd_named = n;
    }
}

void hd_named_forget(void) {
    for (unsigned i = 0; hd_named != NULL && i < HD_NAMED_PLACES; i++) {
        struct place *p = &hd_named->place[i];
        uint32_t use = atomic_load(&p->use);
        while (use != FREE && !atomic_compare_exchange_strong(&p->use, &use, GONE)) {
        }
        if (use == ON) {
            p->waits->watch = NULL; /* its thread looks again, at its next wait but one */
        }
    }
}

/* ---- monitor and worker ------------------------------------------------------------------------ */

bool hd_named_due(uint64_t now_ns) {
    for (unsigned i = 0; hd_named != NULL && i < HD_NAMED_PLACES; i++) {
        struct place *p = &hd_named->place[i];
        uint32_t use = atomic_load(&p->use);
        if (use == LEFT || (use == ON && hd_recognition_due(p->waits, now_ns))) {
            return true;
        }
    }
    return false;
}

uint32_t hd_named_recognise(const struct hd_stack_tools *tools, const struct hd_loop *blocked,
                            struct hd_blocked *how) {
    uint32_t best = hd_named != NULL ? hd_named->ended_status : 0;
    for (unsigned i = 0; hd_named != NULL && i < HD_NAMED_PLACES; i++) {
        struct place *p = &hd_named->place[i];
        uint32_t known = 0;
        if (atomic_load(&p->use) < ON) {
            continue;
        }
        atomic_store(&p->working, 1);
        uint32_t use = atomic_load(&p->use);
        if (use == ON) {
            if (blocked == NULL) {
                hd_recognition_judge(p->waits, tools);
            } else if (p->waits->loop == blocked) {
                hd_recognition_blocked(p->waits, how);
            }
            known = p->waits->recognition->standing;
        } else if (use == LEFT && blocked == NULL) {
            hd_recognition_judge(p->waits, tools); /* its last waits */
            hd_recognition_end(p->waits, tools);
            known = p->waits->recognition->standing;
            hd_named->ended_status = known > hd_named->ended_status ? known : hd_named->ended_status;
            atomic_store(&p->use, FREE);
        }
        atomic_store(&p->working, 0);
        hd_os.futex_wake((uint32_t *)&p->working, 1, false);
        best = known > best ? known : best;
    }
    return best;
}
