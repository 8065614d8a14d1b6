/* SPDX-License-Identifier: MIT
 *
 * The functions of hangdog/waits.h. On the main thread; the recogniser's functions are on the monitor and the
 * worker.
 */
#include "hangdog/waits.h"

#include <errno.h>
#include <sys/auxv.h>

#include "control/api.h"
#include "control/instance.h"
#include "os/os.h"
#include "preload/interpose/real.h"
#include "preload/waits/recognition.h"
#include "watch/watching.h"

static struct hd_record *record;

static void store_certainty(const struct hd_wait_table *t) {
    atomic_store_explicit(&record->loop.certainty, t->recognition->certainty, memory_order_relaxed);
}

static void judge(void *waits, const struct hd_stack_tools *tools) {
    hd_recognition_judge(waits, tools);
    store_certainty(waits);
}

static void is_blocked(void *waits, const struct hd_loop *loop, struct hd_blocked *how) {
    struct hd_wait_table *t = waits;
    if (t->loop == loop) {
        hd_recognition_blocked(t, how);
        store_certainty(t);
    }
}

/* A forked child, whose memory of the watch the kernel has wiped: it is not watched. */
static struct hd_wait_table *first_wait(void) {
    hd_wait_table_self = NULL;
    return NULL;
}

int hangdog_waits_start(const hangdog_options *options) {
    if (hd_os.get_tid() != (uint64_t)hd_os.get_pid()) {
        return -EPERM;
    }
    struct hd_wait_table *t = hd_wait_table_new();
    struct hd_run *run;
    hd_interpose_resolve();
    if (t == NULL) {
        return -ENOMEM;
    }
    const struct hd_recogniser recogniser = {
        .due = hd_recognition_due, .judge = judge, .blocked = is_blocked, .ctx = t};
    int rc = hd_api_start(options, &recogniser, &run);
    if (rc != 0) {
        return rc;
    }
    record = run->record;
    hd_recognition_init(t->recognition, record);
    hd_stack_copies_init(&t->copies);
    t->stack_top = getauxval(AT_EXECFN) & ~7ULL; /* above all frames of the main thread */
    struct hd_watch *watch = hd_watch_add(run, HD_MAIN_LOOP, 0, HD_SINCE_LAUNCH);
    if (watch == NULL) {
        hangdog_stop();
        return -ENOMEM;
    }
    hd_watch_wait_open(run, watch);
    t->loop = &watch->loop;
    t->watch = watch;
    hd_wait_hooks.first_wait = first_wait;
    hd_wait_table_self = t;
    return 0;
}

void hangdog_waits_stop(void) {
    struct hd_wait_table *t = hd_wait_table_self;
    struct hd_run *run = hd_run_current();
    hd_wait_table_self = NULL;
    if (t != NULL && t->watch != NULL && run != NULL) {
        hd_watch_remove(run, t->watch);
    }
    hd_instance_leave(true); /* settles deferred reports, since no runner does */
}
