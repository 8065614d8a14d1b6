/* SPDX-License-Identifier: MIT
 *
 * A thread takes a free slot when its name is one that the user gave by --thread. After the thread has ended,
 * the worker frees the slot. The memory of a slot stays allocated while the process lives, since the worker
 * may be using it.
 */
#include "preload/attach/named_threads.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "preload/attach/attach_state.h"
#include "watch/watching.h"

#define CHECK_EVERY_NS (100 * HD_NS_PER_MS)
/* The longest time for which an ending named thread is blocked until the worker leaves its slot. */
#define WORKER_WAIT_NS (100 * HD_NS_PER_MS)

enum use {
    FREE,
    /* The thread fills the slot. Before the thread sets WATCHED, it checks whether the slot has become
     * FORGOTTEN meanwhile. */
    CLAIMED,
    WATCHED,
    ENDED, /* the thread has ended, and the worker will free the slot */
    /* The watch of the slot's thread has ended. This thread may still use the slot, so no other thread
     * gets it. */
    FORGOTTEN,
};

struct slot {
    _Atomic uint32_t use;
    /* 1 while the worker uses the slot; an ending thread is blocked in futex until this is 0 */
    _Atomic uint32_t working;
    struct hd_wait_table *waits;
};

#define POOL "tokio-runtime-w" /* the default name, as the kernel truncates it */

#define HD_NAMED_SLOTS 15 /* the most named threads that are watched at the same time */

struct hd_named {
    struct hd_record *record;
    uint32_t count;
    bool automatic; /* true: the user named no thread and no loop, and the threads of POOL are watched */
    bool main_loop; /* true: the main thread has a loop; only the worker uses this member */
    /* the certainty (enum hd_record_certainty) of the best known loop of all named threads that have ended */
    uint32_t ended_status;
    struct slot slot[HD_NAMED_SLOTS];
};

struct hd_named *hd_named;
static pthread_key_t at_exit;
static _Thread_local uint64_t checked_ns;
/* True: the thread is not of POOL. A thread of POOL has its name before its first wait. */
static _Thread_local bool other_name;

/* ---- the thread ------------------------------------------------------------------------------ */

/* Runs when a watched named thread ends. The memory of the thread's stack is about to vanish. So this
 * function blocks until neither the worker nor the monitor uses the stack, but only for a limited time. It
 * does so even during a stop of the watch, and if the slot is FORGOTTEN. */
static void thread_ends(void *of) {
    struct slot *p = of;
    uint32_t use = atomic_load(&p->use), on = WATCHED;
    hd_wait_table_self = NULL;
    if (use != WATCHED && use != FORGOTTEN) {
        /* In a forked child the kernel has wiped the slot, so there is nothing to end. */
        return;
    }
    /* `watch` is read before the slot becomes ENDED, because an ENDED slot may get another thread. */
    struct hd_watch *watch = p->waits->watch;
    if (use == WATCHED) {
        hd_loop_mark(p->waits->loop, HANGDOG_EXIT);
    }
    atomic_compare_exchange_strong(&p->use, &on, ENDED);
    if (hd_attach_is_filtered()) {
        return; /* a seccomp filter has ended the watch, and a system call might kill the program */
    }
    struct hd_run *run = hd_run_current();
    uint64_t until_ns = hd_os_now_ns() + WORKER_WAIT_NS;
    while (atomic_load(&p->working) != 0 &&
           hd_os.futex_wait((uint32_t *)&p->working, 1, until_ns, false) != -ETIMEDOUT) {
    }
    if (run != NULL && watch != NULL && atomic_load(&p->working) == 0) {
        hd_watch_remove(run, watch);
    } else {
        /* If the worker did not finish in time, or the run has ended, this function does not remove the
         * watch. */
        hd_watch_leave_stopped();
    }
}

static struct slot *claim(void) {
    for (unsigned i = 0; i < HD_NAMED_SLOTS; i++) {
        uint32_t free = FREE;
        if (atomic_compare_exchange_strong(&hd_named->slot[i].use, &free, CLAIMED)) {
            return &hd_named->slot[i];
        }
    }
    return NULL;
}

/* Prepares the slot for a new thread. Uses the wait table of the slot's former thread again, since the
 * worker may still be reading it. False: there was no memory for a wait table. */
static bool clear(struct slot *p, const char *name) {
    struct hd_wait_table *t = p->waits != NULL ? p->waits : hd_wait_table_new();
    if (t == NULL) {
        return false;
    }
    p->waits = t;
    hd_wait_table_forget(t);
    t->stack_top = 0;
    t->named = true;
    t->pool = strcmp(name, POOL) == 0;
    t->silent = false;
    /* The slot's former thread may have ended in a signal handler while `slow_path` was true. In this case
     * the flag is still set. */
    atomic_store_explicit(&t->slow_path, false, memory_order_relaxed);
    hd_stack_copies_init(&t->copies);
    hd_recognition_init(t->recognition, hd_named->record);
    return true;
}

static bool watch(const char *name, uint64_t now_ns) {
    struct slot *p = claim();
    if (p == NULL) {
        return false;
    }
    /* `run` is read after the slot is claimed. So if this run ends meanwhile, its end sets the slot to
     * FORGOTTEN. */
    struct hd_run *run = hd_run_current();
    struct hd_watch *w = run != NULL && clear(p, name) ? hd_watch_add(run, name, 0, now_ns) : NULL;
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
    if (!atomic_compare_exchange_strong(&p->use, &claimed, WATCHED)) {
        /* The slot has become FORGOTTEN, because the run has ended meanwhile. So this watch ends too. */
        p->waits->watch = NULL;
        hd_watch_remove(run, w);
        return false;
    }
    hd_wait_table_self = p->waits;
    return true;
}

static bool watch_quietly(const char *name, uint64_t now_ns) {
    int saved = errno;
    bool watched = watch(name, now_ns);
    errno = saved;
    return watched;
}

bool hd_named_watch_caller(void) {
    char name[HD_THREAD_NAME_BYTES];
    if (other_name) {
        return false;
    }
    uint64_t now_ns = hd_os_now_ns();
    if ((hd_named->count == 0 && !hd_named->automatic) || now_ns - checked_ns < CHECK_EVERY_NS ||
        hd_attach_is_filtered()) {
        return false;
    }
    checked_ns = now_ns;
    if (hd_os.get_thread_name(name) != 0 || hd_os_is_main_thread()) {
        return false; /* --thread does not apply to the main thread */
    }
    if (hd_named->automatic) {
        other_name = strcmp(name, POOL) != 0;
        return !other_name && watch_quietly(name, now_ns);
    }
    for (uint32_t i = 0; i < hd_named->count; i++) {
        if (strcmp(name, hd_named->record->options.thread[i]) == 0) {
            atomic_fetch_or(&hd_named->record->threads_seen, 1U << i);
            return watch_quietly(name, now_ns);
        }
    }
    return false;
}

/* ---- the process ----------------------------------------------------------------------------- */

void hd_named_init(struct hd_record *r) {
    uint32_t count = r->options.threads < HD_THREADS_NAMED ? r->options.threads : HD_THREADS_NAMED;
    bool automatic = count == 0 && r->options.loop[0] == '\0';
    struct hd_named *n = count > 0 || automatic ? hd_os_memory_take(sizeof *n) : NULL;
    if (n != NULL && pthread_key_create(&at_exit, thread_ends) == 0) {
        n->record = r;
        n->count = count;
        n->automatic = automatic;
        hd_named = n;
    }
}

void hd_named_forget(void) {
    for (unsigned i = 0; hd_named != NULL && i < HD_NAMED_SLOTS; i++) {
        struct slot *p = &hd_named->slot[i];
        uint32_t use = atomic_load(&p->use);
        while (use != FREE && !atomic_compare_exchange_strong(&p->use, &use, FORGOTTEN)) {
        }
        if (use == WATCHED) {
            /* The thread's next wait finds no watch and gives up this wait table. A later wait takes a slot
             * again. */
            p->waits->watch = NULL;
        }
    }
}

/* ---- monitor and worker ------------------------------------------------------------------------ */

bool hd_named_due(uint64_t now_ns) {
    for (unsigned i = 0; hd_named != NULL && i < HD_NAMED_SLOTS; i++) {
        struct slot *p = &hd_named->slot[i];
        uint32_t use = atomic_load(&p->use);
        if (use == ENDED || (use == WATCHED && hd_recognition_due(p->waits, now_ns))) {
            return true;
        }
    }
    return false;
}

static uint32_t certainty_of(const struct hd_wait_table *t) {
    return t->silent ? HD_RECORD_NO_LOOP : t->recognition->certainty;
}

void hd_named_set_main_loop(bool has_loop) {
    if (hd_named != NULL) {
        hd_named->main_loop = has_loop;
    }
}

const struct hd_wait_table *hd_named_busiest(const struct hd_wait_table *t) {
    for (unsigned i = 0; hd_named != NULL && i < HD_NAMED_SLOTS; i++) {
        const struct slot *p = &hd_named->slot[i];
        if (atomic_load(&p->use) == WATCHED && !p->waits->silent &&
            atomic_load_explicit(&p->waits->order, memory_order_relaxed) >
                atomic_load_explicit(&t->order, memory_order_relaxed)) {
            t = p->waits;
        }
    }
    return t;
}

uint32_t hd_named_recognise(const struct hd_stack_tools *tools, const struct hd_loop *blocked,
                            struct hd_blocked *how) {
    uint32_t best = hd_named != NULL ? hd_named->ended_status : 0;
    for (unsigned i = 0; hd_named != NULL && i < HD_NAMED_SLOTS; i++) {
        struct slot *p = &hd_named->slot[i];
        uint32_t known = 0;
        if (atomic_load(&p->use) < WATCHED) {
            continue;
        }
        atomic_store(&p->working, 1);
        uint32_t use = atomic_load(&p->use);
        p->waits->silent = hd_named->automatic && hd_named->main_loop;
        if (use == WATCHED) {
            if (blocked == NULL) {
                hd_recognition_judge(p->waits, tools);
            } else if (p->waits->loop == blocked) {
                hd_recognition_blocked(p->waits, how);
            }
            known = certainty_of(p->waits);
        } else if (use == ENDED && blocked == NULL) {
            hd_recognition_judge(p->waits, tools); /* judges the thread's last waits */
            hd_recognition_end(p->waits, tools);
            known = certainty_of(p->waits);
            hd_named->ended_status = known > hd_named->ended_status ? known : hd_named->ended_status;
            atomic_store(&p->use, FREE);
        }
        atomic_store(&p->working, 0);
        hd_os.futex_wake((uint32_t *)&p->working, 1, false);
        best = known > best ? known : best;
    }
    return best;
}
