/* SPDX-License-Identifier: MIT
 *
 * Starts and stops Hangdog, whose memory is one mapping. No other memory is allocated.
 */
#include "control/instance_private.h"

#include <errno.h>

#include "capture/watched_thread.h"
#include "crash/crash.h"
#include "record/uuid.h"
#include "watch/futex.h"
#include "worker/worker.h"

/* How long the end of the main thread waits for the worker. It has to wait, because libc writes the
 * program's buffers only after the worker has ended. */
#define LAST_WAIT_NS (5 * HD_NS_PER_S)

/* The number of bytes that a start zeroes in the memory of the run before. Threads that have not yet seen the
 * stop may still read the rest. */
#define ZEROED_BYTES offsetof(struct hd_instance, run.watches.entering)
_Static_assert(ZEROED_BYTES % 8 == 0, "hd_os_memory_clear()");

/* true: an abandoned worker may still use the mapping, so no start uses it again */
static bool memory_is_lost;
/* true: an abandoned worker may still read the buffer of signalled threads' stacks */
static bool stack_is_lost;

/* ---- start ---------------------------------------------------------------------------------- */

static size_t round_up(size_t n) {
    return (n + HD_PAGE_BYTES - 1) & ~(size_t)(HD_PAGE_BYTES - 1);
}

static size_t to_record(size_t n) {
    return (n + HD_RECORD_ALIGN - 1) & ~(size_t)(HD_RECORD_ALIGN - 1);
}

/* The offset of the record from the worker's memory. On Linux the record shares the worker's last page,
 * because the library may map at most 1 MiB. */
static size_t record_at(void) {
    return to_record(hd_worker_bytes());
}

static size_t memory_bytes(void) {
    return round_up(sizeof(struct hd_instance)) + round_up(record_at() + to_record(sizeof(struct hd_record)));
}

/* Measures a first rate of the time-stamp counter. Later looks make the rate more exact. */
static void init_clock(struct hd_run *r) {
    hd_os_clock_init();
    r->ticks_are_tsc = hd_os_ticks_usable();
    uint64_t ticks, ns;
    hd_clock_read(r->ticks_are_tsc, &ticks, &ns);
    hd_clock_start(&r->clock, ticks, ns);
    do {
        hd_clock_read(r->ticks_are_tsc, &ticks, &ns);
    } while (r->ticks_are_tsc && ns - r->clock.ns < 200 * HD_NS_PER_US);
    hd_clock_pair(&r->clock, ticks, ns);
}

/* Takes the memory of the run before, or new memory. A forked child takes new memory, because libc may still
 * list the monitor and the worker there, with stacks in the old memory. Returns -EBUSY while other threads
 * add or remove watches. The program may call marks with handles of the run before, or pause, during the
 * zeroing. That does no harm, because flags and word are zero. */
static int take_memory(struct hd_instance **out, uint64_t until_ns) {
    struct hd_run *last = hd_run_last();
    if (last != NULL && !memory_is_lost && hd_run_is_alive()) {
        struct hd_instance *i = hd_instance_of(last);
        while (atomic_load(&last->watches.entering) != 0) {
            if (hd_os_now_ns() >= until_ns) {
                return -EBUSY;
            }
            hd_os_nap(HD_NS_PER_MS / 5);
        }
        hd_watch_clear_all(&last->watches);
        hd_os_memory_clear(i, ZEROED_BYTES);
        atomic_store(&last->alive, 0);
        hd_os_memory_clear((uint8_t *)i + round_up(sizeof *i), memory_bytes() - round_up(sizeof *i));
        *out = i;
        return 0;
    }
    memory_is_lost = false;
    *out = hd_os_memory_take(memory_bytes());
    return *out != NULL ? 0 : -ENOMEM;
}

static void init_record(struct hd_record *r) {
    r->magic = HD_RECORD_MAGIC;
    r->bytes = sizeof *r;
    r->options.started_ns = hd_os_now_ns();
    r->options.started_wall_ns = hd_os_wall_ns();
    /* the program counts as in the foreground until it sets another state */
    hd_record_foreground(r, true, r->options.started_ns);
    hd_uuid_make(r->options.session, r->options.started_wall_ns);
}

/* Starts both threads, or none, because without a worker there would be hangs without reports. */
static int start_threads(struct hd_instance *i) {
    struct hd_run *r = &i->run;
    int rc = hd_os_thread_start(&i->monitor_thread, i->monitor_stack, HD_THREAD_STACK_BYTES, hd_monitor_run,
                                &i->monitor);
    if (rc == 0) {
        r->channel.threads.count = 1;
        rc = hd_os_thread_start(&i->worker_thread, i->worker_stack, HD_THREAD_STACK_BYTES, hd_worker_run,
                                i->worker);
    }
    if (rc == 0) {
        r->channel.threads.count = 2;
    } else {
        atomic_store(&r->channel.stop.requested, true);
        hd_run_wake(r);
        hd_os_thread_join(&i->monitor_thread);
        hd_capture_signal_end();
    }
    return rc;
}

int hd_instance_start(const struct hd_settings *settings, const struct hd_ports *ports,
                      struct hd_record *record, struct hd_run **out) {
    hd_os_clock_init();
    uint64_t until_ns = hd_os_now_ns() + HD_CALL_NS;
    int rc = hd_run_start_change(true, until_ns);
    if (rc < 0) {
        return rc;
    }
    struct hd_instance *i;
    rc = hd_capture_buffers() == 0 ? take_memory(&i, until_ns) : -ENOMEM;
    if (rc != 0) {
        hd_run_end_change(HD_PHASE_STOPPED);
        return rc;
    }
    struct hd_run *r = &i->run;
    uint8_t *more = (uint8_t *)i + round_up(sizeof *i);
    r->settings = *settings;
    r->ports = *ports;
    r->watches.monitor_bytes = sizeof(struct hd_look_state);
    i->monitor.run = r;
    i->monitor.ring.in_place_until = stack_is_lost ? UINT64_MAX : 0;
    i->monitor.look_ns = settings->interval_ns;
    i->worker = (struct hd_worker *)(void *)more;
    hd_worker_give_run(i->worker, r);
    r->record = record != NULL ? record : (struct hd_record *)(void *)(more + record_at());
    if (record == NULL) {
        init_record(r->record);
    }
    /* stored again, because the preload may have started and stopped Hangdog before */
    atomic_store(&r->record->status.end, HD_RECORD_RUNS);
    atomic_store(&r->channel.program.state, HANGDOG_STATE_FOREGROUND);
    atomic_store(&r->alive, 1);
    init_clock(r);
    hd_capture_signal_init(settings->signal); /* an error only means that running threads give no stacks */
    i->place = (struct hd_run_place){.magic = HD_RUN_MAGIC,
                                     .run = (uint64_t)(uintptr_t)r,
                                     .run_bytes = sizeof *r,
                                     .watch_bytes = sizeof(struct hd_watch)};
    hd_run_set(r);
    rc = start_threads(i);
    if (rc == 0 && settings->crash != 0) {
        hd_crash_begin(&r->channel.worker_wake, settings->crash == 2);
    }
    if (rc == 0 && record == NULL) { /* the preload waits later, after it has added its watch */
        hd_run_wait_ready(r, until_ns);
    }
    hd_run_end_change(rc == 0 ? HD_PHASE_RUNNING : HD_PHASE_STOPPED);
    *out = r;
    return rc;
}

/* ---- stop ----------------------------------------------------------------------------------- */

/* Stores how the run has ended. A worker that has not `finished` waits for a disk, and is abandoned. */
static void store_end(struct hd_run *r, bool finished, bool joined) {
    atomic_store(&r->channel.stop.worker_left, !finished);
    memory_is_lost = !joined;
    stack_is_lost |= !finished;
    atomic_store_explicit(&r->record->status.end, finished ? HD_RECORD_STOPPED : HD_RECORD_STOPPED_EARLY,
                          memory_order_release);
}

/* `join`: the monitor and the worker have ended when this returns. A join frees memory. So there is no join
 * at exit, because a signal handler may call exit while its thread has malloc's locks. */
static int stop(bool join, bool at_exit) {
    uint64_t until_ns = hd_os_now_ns() + HD_CALL_NS;
    int was = hd_run_start_change(false, until_ns);
    if (was != HD_PHASE_RUNNING) {
        if (was == HD_PHASE_STOPPED) {
            hd_run_end_change(HD_PHASE_STOPPED);
        }
        return was < 0 ? was : 0;
    }
    struct hd_run *r = hd_run_last();
    struct hd_instance *i = hd_instance_of(r);
    hd_crash_end();
    if (!join) {
        hd_os_thread_detach(&i->monitor_thread);
        hd_os_thread_detach(&i->worker_thread);
    }
    atomic_store(&r->channel.stop.at_exit, at_exit);
    atomic_store(&r->channel.stop.requested, true);
    hd_run_wake(r);
    if (join) {
        hd_os_thread_join(&i->monitor_thread);
    }
    hd_futex_wait_while(&r->channel.stop.worker_done, 0,
                        join && at_exit ? hd_os_now_ns() + LAST_WAIT_NS : until_ns);
    bool finished = atomic_load(&r->channel.stop.worker_done) != 0;
    if (finished && join) {
        hd_os_thread_join(&i->worker_thread);
    }
    store_end(r, finished, finished && join);
    hd_run_end_change(HD_PHASE_STOPPED);
    hd_events_wake(&r->channel.events);
    return 0;
}

int hd_instance_stop(void) {
    return stop(true, false);
}

void hd_instance_leave(bool others_run) {
    if (hd_run_current() != NULL) {
        stop(others_run, true);
    }
}

/* So a program that exits without hangdog_stop gets its session report too. */
__attribute__((destructor)) static void at_exit(void) {
    hd_instance_leave(false);
}
