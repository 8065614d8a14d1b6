/* SPDX-License-Identifier: MIT */
#include "preload/attach/attach_start.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>

#include "capture/mailbox.h"
#include "control/instance.h"
#include "control/settings.h"
#include "preload/attach/abandoned.h"
#include "preload/attach/attach_recogniser.h"
#include "preload/attach/attach_state.h"
#include "preload/attach/attach_stop.h"
#include "preload/attach/credentials.h"
#include "preload/attach/record_file.h"
#include "watch/watching.h"

/* ---- settings ------------------------------------------------------------------------------- */

static void copy_string(char *to, size_t size, const char *from) {
    size_t n = strnlen(from, size - 1);
    memcpy(to, from, n);
    to[n] = '\0';
}

static void fill_settings(const struct hd_record_options *o, struct hd_settings *out) {
    hd_settings_init(out);
    out->deferred = true;
    out->pools = true;
    out->exec_mode = o->exec_mode != 0;
    out->journal = o->journal ? hd_record_file_first() : NULL;
    out->interval_ns = o->interval_ns;
    out->threshold_ns[HANGDOG_STATE_LAUNCH] = o->launch_threshold_ns;
    out->threshold_ns[HANGDOG_STATE_FOREGROUND] = o->threshold_ns;
    out->without_paths = o->without_paths;
    out->crash = o->crash;
    if (o->keep_alive && !o->of_child) {
        hd_settings_keep_alive(out, true);
    }
    out->cpu_period_ns = o->cpu_period_ns;
    out->frame_drop_ns = o->frame_drop_ns;
    out->frame_period_ns = HD_NS_PER_S / (o->display_hz != 0 ? o->display_hz : 60);
    out->reports_per_day = o->reports_per_day;
    out->reports_per_fingerprint = o->reports_per_fingerprint;
    out->outbox = hd_record_file_outbox();
    out->sample_launch_ns = HD_SAMPLE_LAUNCH_NS;
    out->launch_known_ns = HD_LAUNCH_KNOWN_NS;
    copy_string(out->app_name, sizeof out->app_name, o->app_name);
    copy_string(out->app_version, sizeof out->app_version, o->app_version);
    copy_string(out->environment, sizeof out->environment, o->environment);
    copy_string(out->spool, sizeof out->spool, o->spool);
    copy_string(out->kept_file, sizeof out->kept_file, o->link);
}

/* ---- the main thread ------------------------------------------------------------------------- */

/* Returns an address above all stack frames of the main thread: the kernel stores the path of the executed
 * file at that address. */
static uint64_t main_stack_top(void) {
    return getauxval(AT_EXECFN);
}

static void watch_main_thread(struct hd_run *run, struct hd_wait_table *t, uint64_t start_ns) {
    hd_stack_copies_init(&t->copies);
    t->stack_top = main_stack_top() & ~7ULL;
    struct hd_watch *watch = hd_watch_add(run, HD_MAIN_LOOP, 0, start_ns);
    t->loop = watch != NULL ? &watch->loop : NULL;
    t->watch = watch;
    if (t->watch != NULL) {
        hd_attach_alt_stack = t->watch->mailbox->alt_stack;
    }
    hd_wait_table_self = hd_attach_state.waits = t;
}

/* Runs when the main thread calls pthread_exit. Ends our threads, and so also the watches of the named
 * threads. Otherwise one of our threads could be the last thread of the process, on which libc calls exit.
 * Our threads have a private descriptor table, so the program's exit handlers would not find the program's
 * descriptors there. */
static void main_thread_ends(void *unused) {
    (void)unused;
    hd_wait_table_self = NULL;
    hd_instance_leave(true);
}

static void stop_at_exit_of_main_thread(void) {
    pthread_key_t key;
    if (pthread_key_create(&key, main_thread_ends) == 0) {
        pthread_setspecific(key, &key);
    }
}

/* ---- start ----------------------------------------------------------------------------------- */

/* Ends the watch before it has started, and stores the reason `why`. Closes our descriptor of the record
 * file, since none of our descriptors may stay in the program's descriptor table. */
static void give_up(enum hd_unwatched why) {
    atomic_store(&hd_attach_state.phase, HD_ATTACH_NEVER);
    atomic_store(&hd_attach_state.record->status.unwatched, why);
    hd_record_file_release();
}

static enum hd_unwatched reason_of(int rc) {
    return rc == -ENOMEM || rc == -EAGAIN || rc == -EBUSY ? HD_UNWATCHED_FAILED : HD_UNWATCHED_TABLE;
}

static void store_rights(void) {
    hd_attach_store_rights();
    if (hd_attach_state.securebits < 0) {
        hd_attach_state.securebits = hd_own_prctl(PR_GET_SECUREBITS, 0, 0, 0, 0);
    }
}

void hd_attach_start(struct hd_wait_table *t, uint64_t start_ns) {
    /* The settings are static, because a coroutine may make the first wait, and its stack is too small for
     * them. */
    static struct hd_settings settings;
    struct hd_record *r = hd_attach_state.record;
    struct hd_attach_restarts *restarts = &hd_attach_state.restarts;
    uint64_t began_ns = hd_os_now_ns();
    fill_settings(&r->options, &settings);
    struct hd_run *run;
    const struct hd_ports ports = {.recogniser = hd_attach_recogniser(t, r),
                                   .exceeds = hd_attach_end_on_monitor};
    /* If the program has changed its root folder, the spool's path now means another folder, so no watch
     * starts. */
    if (!hd_attach_has_same_root()) {
        give_up(HD_UNWATCHED_ROOT);
        return;
    }
    int rc = restarts->lost_tables < HD_ATTACH_TABLES_MAX ? hd_instance_start(&settings, &ports, r, &run)
                                                          : -ENOMEM;
    if (rc != 0) {
        give_up(reason_of(rc));
        return;
    }
    store_rights();
    if (restarts->starts++ == 0) {
        stop_at_exit_of_main_thread();
    }
    atomic_store(&r->status.attached, 2);
    watch_main_thread(run, t, start_ns);
    hd_run_wait_ready(run, UINT64_MAX);
    if (t->watch != NULL) {
        hd_watch_wait_open(run, t->watch);
    }
    hd_record_file_release();
    atomic_store(&r->status.unwatched, HD_UNWATCHED_NOT);
    restarts->start_took_ns = hd_os_now_ns() - began_ns;
    uint32_t starting = HD_ATTACH_STARTING;
    if (!atomic_compare_exchange_strong(&hd_attach_state.phase, &starting, HD_ATTACH_WATCHED)) {
        /* Another thread has installed a seccomp filter during the start, so the watch ends again. */
        (void)hd_attach_stop();
        atomic_store(&r->status.unwatched, HD_UNWATCHED_FILTER);
    }
}
