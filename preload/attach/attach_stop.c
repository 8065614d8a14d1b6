/* SPDX-License-Identifier: MIT */
#include "preload/attach/attach_stop.h"

#include "capture/watched_thread.h"
#include "control/instance.h"
#include "preload/attach/abandoned.h"
#include "preload/attach/attach_state.h"
#include "preload/attach/named_threads.h"
#include "preload/attach/record_file.h"
#include "watch/watching.h"

#define STARTS_WITHOUT_PAUSE 4
/* The pause before the next start of the watch is this number of times as long as the last start and the
 * last stop together. So starts and stops take at most a twentieth of the main thread's time. */
#define PAUSE_FACTOR 20

bool hd_attach_stop(void) {
    const struct hd_run *run = hd_run_current();
    int monitor = run != NULL ? hd_thread_id_tid(atomic_load(&run->channel.threads.monitor)) : 0;
    int worker = run != NULL ? hd_thread_id_tid(atomic_load(&run->channel.threads.worker)) : 0;
    bool stopped = hd_instance_stop() == 0 && run != NULL;
    hd_attach_add_abandoned(monitor);
    hd_attach_add_abandoned(worker);
    return stopped && !atomic_load(&run->channel.stop.worker_left);
}

/* Sets the earliest time of the watch's next start, so that a program that soon ends each watch does not
 * spend its time on starts. */
static void set_pause(uint64_t stop_began_ns) {
    struct hd_attach_restarts *r = &hd_attach_state.restarts;
    uint64_t now_ns = hd_os_now_ns();
    uint64_t took_ns = r->start_took_ns + (now_ns - stop_began_ns);
    r->not_before_ns = r->starts < STARTS_WITHOUT_PAUSE ? 0 : now_ns + PAUSE_FACTOR * took_ns;
}

bool hd_attach_end_threads(void) {
    struct hd_wait_table *t = hd_wait_table_self;
    if (hd_attach_own_thread() == 0 || t == NULL || t->named) {
        return false;
    }
    uint64_t began_ns = hd_os_now_ns();
    hd_record_file_keep();
    /* NULL until the stop has shown whether the worker still uses the wait table */
    hd_wait_table_self = NULL;
    struct hd_run *run = hd_run_current();
    /* The wait table has no watch if another thread's seccomp filter has ended it, or if there was no
     * memory for it. */
    if (run != NULL && t->watch != NULL) {
        hd_watch_remove(run, t->watch);
    }
    if (hd_attach_stop()) {
        hd_wait_table_forget(t);
        hd_wait_table_self = t;
    } else {
        hd_wait_table_self = hd_wait_table_new();
        hd_attach_state.restarts.lost_tables++;
    }
    hd_watch_leave_stopped();
    hd_named_forget(); /* comes after the stop, since until the stop more named threads can join this run */
    hd_attach_state.securebits = -1;
    set_pause(began_ns);
    /* the watch's phase is NEVER if another thread has installed a seccomp filter */
    uint32_t phase = atomic_load(&hd_attach_state.phase);
    if (hd_attach_phase_has_threads(phase)) {
        atomic_compare_exchange_strong(&hd_attach_state.phase, &phase,
                                       hd_wait_table_self != NULL ? HD_ATTACH_AT_FIRST_WAIT
                                                                  : HD_ATTACH_NEVER);
    }
    return true;
}

void hd_attach_end_watch(enum hd_unwatched why) {
    if (hd_attach_own_thread() != 0) {
        /* after this stop the main thread still marks its turns, but the marks have no effect */
        (void)hd_attach_stop();
        atomic_store(&hd_attach_state.phase, HD_ATTACH_NEVER);
        atomic_store(&hd_attach_state.record->status.unwatched, why);
    }
}

void hd_attach_before_filter(void) {
    if (hd_attach_is_filtered() || hd_attach_is_vforked()) {
        return;
    }
    /* A forked child needs this call, too. Otherwise our signal handler would make system calls if the
     * child got the handler's signal. The filter might kill the child for such a call. */
    hd_capture_signal_end();
    if (hd_attach_has_own_memory()) {
        if (hd_attach_phase_has_threads(atomic_exchange(&hd_attach_state.phase, HD_ATTACH_NEVER))) {
            (void)hd_attach_stop();
            hd_named_forget();
            hd_attach_state.waits->watch = NULL;
            hd_attach_wait_for_abandoned();
        }
        atomic_store(&hd_attach_state.record->status.unwatched, HD_UNWATCHED_FILTER);
    }
    atomic_store(&hd_attach_state.filtered, true);
}

void hd_attach_end_on_monitor(bool filtered) {
    uint32_t watched = HD_ATTACH_WATCHED;
    if (!atomic_compare_exchange_strong(&hd_attach_state.phase, &watched,
                                        filtered ? HD_ATTACH_NEVER : HD_ATTACH_ENDING)) {
        return; /* a thread of the program ends the watch at the same time, so this function does nothing */
    }
    hd_attach_state.waits->watch = NULL;
    if (filtered) { /* from now on no code of ours may make a system call on a thread of the program */
        hd_capture_signal_end();
        hd_named_forget();
        atomic_store(&hd_attach_state.record->status.unwatched, HD_UNWATCHED_FILTER);
        atomic_store(&hd_attach_state.filtered, true);
        if (hd_run_start_change(false, hd_os_now_ns()) == HD_PHASE_RUNNING) {
            hd_run_end_change(HD_PHASE_STOPPED);
        }
    }
}
