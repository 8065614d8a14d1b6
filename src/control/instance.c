/* SPDX-License-Identifier: MIT
 *
 * Ordinary code: starting and stopping the monitor. At any moment, in any order, from any thread; less than
 * 100 ms. One monitor per process. Nothing is allocated but by the mapping taken here.
 */
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>

#include "capture/mailbox.h"
#include "monitor/monitor.h"
#include "record/uuid.h"
#include "watch/run.h"

/* How long the monitor is waited for that cannot be woken, or whose late signal may kill: who is under a
 * filter ends, or gets one. */
#define FILTER_NS (1 * HD_NS_PER_S)

_Static_assert(offsetof(struct hd_monitor, alive) % 8 == 0, "hd_os_memory_clear()");

enum phase { STOPPED, CHANGING, RUNNING };

/* The only statics: a forked child finds them as they were. Whose the phase is stands beside it, and both
 * change in one step: of two threads that make the first call in a process each finds another's. */
static union {
    _Atomic uint64_t both;
    struct {
        _Atomic uint32_t phase; /* a futex word */
        _Atomic uint32_t pid;
    } half;
} run;
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the phase is the lower half");
static struct hd_monitor *_Atomic monitor;
static _Atomic bool filtered; /* a seccomp filter is on a watched thread: it makes no system call for us */
_Thread_local bool hd_thread_is_filtered;
bool hd_any_is_filtered;
static bool abandoned; /* the worker of `monitor` may still be at work: its memory is never used again */
static bool astray;    /* a worker was left at work: it may still read the stack that was lent to it */

static uint64_t ours(enum phase phase) {
    return (uint64_t)(uint32_t)hd_os.get_pid() << 32 | (uint64_t)phase;
}

/* A forked child finds its memory wiped, and needs no system call to know: it may be under a filter. */
static bool is_alive(void) {
    return atomic_load_explicit(&atomic_load(&monitor)->alive, memory_order_relaxed) != 0;
}

struct hd_monitor *hd_monitor_current(void) {
    /* first: from the first start's end on there is a monitor to look at */
    uint64_t now = atomic_load_explicit(&run.both, memory_order_acquire);
    bool on = (uint32_t)now == RUNNING && is_alive() && now == ours(RUNNING);
    return on ? atomic_load_explicit(&monitor, memory_order_acquire) : NULL;
}

static void end_change(enum phase now) {
    atomic_store_explicit(&run.both, ours(now), memory_order_release);
    hd_os.futex_wake((uint32_t *)&run.half.phase, INT_MAX, false);
}

/* Becomes the one who changes things. The phase that was, or -EBUSY; -EALREADY where a start finds it
 * running: nobody is disturbed for nothing. A forked child starts from nothing: its number is another, or, in
 * a namespace of processes of its own, the monitor's memory was wiped. What that memory says counts when
 * nobody else changes it: a start has to zero it. */
static int begin_change(bool starts, uint64_t until_ns) {
    uint64_t mine = ours(CHANGING);
    for (;;) {
        uint64_t was = atomic_load(&run.both);
        enum phase phase = was >> 32 == mine >> 32 ? (enum phase)(uint32_t)was : STOPPED;
        if (phase == CHANGING) {
            if (hd_os.futex_wait((uint32_t *)&run.half.phase, CHANGING, until_ns, false) == -ETIMEDOUT) {
                return -EBUSY;
            }
        } else if (starts && phase == RUNNING && is_alive()) {
            return -EALREADY;
        } else if (atomic_compare_exchange_strong(&run.both, &was, mine)) {
            if (phase != RUNNING || !is_alive()) {
                return STOPPED;
            }
            if (!starts) {
                return RUNNING;
            }
            end_change(RUNNING); /* what seemed wiped was a next run that began */
        }
    }
}

bool hd_run_has(const struct hd_monitor *m) {
    return atomic_load(&run.half.phase) == RUNNING && atomic_load(&monitor) == m;
}

void hd_wait_while(_Atomic uint32_t *word, uint32_t is, uint64_t until_ns) {
    while (atomic_load(word) == is && hd_os.futex_wait((uint32_t *)word, is, until_ns, false) != -ETIMEDOUT) {
    }
}

void hd_run_wait_changed(uint64_t until_ns) {
    hd_wait_while(&run.half.phase, CHANGING, until_ns);
}

/* ---- start ---------------------------------------------------------------------------------- */

static size_t round_up(size_t n) {
    return (n + 4095) & ~(size_t)4095;
}

static size_t memory_bytes(void) {
    return round_up(sizeof(struct hd_monitor)) + round_up(hd_worker_bytes()) +
           round_up(sizeof(struct hd_record));
}

/* The first rate of the counter; each look betters it. */
static void init_clock(struct hd_monitor *m) {
    hd_os_clock_init();
    m->ticks_are_tsc = hd_os_ticks_usable();
    uint64_t ticks, ns;
    hd_clock_read(m->ticks_are_tsc, &ticks, &ns);
    hd_clock_begin(&m->clock, ticks, ns);
    do {
        hd_clock_read(m->ticks_are_tsc, &ticks, &ns);
    } while (m->ticks_are_tsc && ns - m->clock.ns < 200 * HD_NS_PER_US);
    hd_clock_pair(&m->clock, ticks, ns);
}

/* The memory of the run before, or new one, also in a forked child: one that libc does not know of has our
 * threads of before in its list, by stacks in that memory. -EBUSY: threads are still adding and removing
 * watches. Marks on handles of the run before may go on meanwhile, and pauses be told: they find flags and
 * word at zero. */
static int take_memory(struct hd_monitor **out, uint64_t until_ns) {
    struct hd_monitor *m = atomic_load(&monitor);
    if (m != NULL && !abandoned && is_alive()) {
        while (atomic_load(&m->entering) != 0) {
            if (hd_os_now_ns() >= until_ns) {
                return -EBUSY;
            }
            hd_os_nap(HD_NS_PER_MS / 5);
        }
        hd_watches_clear(m);
        hd_os_memory_clear(m, offsetof(struct hd_monitor, alive));
        atomic_store(&m->alive, 0);
        hd_os_memory_clear((uint8_t *)m + round_up(sizeof *m), memory_bytes() - round_up(sizeof *m));
        *out = m;
        return 0;
    }
    abandoned = false;
    *out = hd_os_memory_take(memory_bytes());
    return *out != NULL ? 0 : -ENOMEM;
}

static void own_record(struct hd_record *r) {
    r->magic = HD_RECORD_MAGIC;
    r->bytes = sizeof *r;
    r->options.started_ns = hd_os_now_ns();
    r->options.started_wall_ns = hd_os_wall_ns();
    hd_record_foreground(r, true, r->options.started_ns); /* as long as it does not tell another state */
    hd_uuid_make(r->options.session, r->options.started_wall_ns);
}

int hd_monitor_start(const struct hd_settings *settings, struct hd_record *record, struct hd_monitor **out) {
    hd_os_clock_init();
    uint64_t until_ns = hd_os_now_ns() + HD_CALL_NS;
    int rc = begin_change(true, until_ns);
    if (rc < 0) {
        return rc;
    }
    struct hd_monitor *m;
    rc = hd_capture_buffers() == 0 ? take_memory(&m, until_ns) : -ENOMEM;
    if (rc != 0) {
        end_change(STOPPED);
        return rc;
    }
    uint8_t *more = (uint8_t *)m + round_up(sizeof *m);
    m->lent_until = astray ? UINT64_MAX : 0;
    m->settings = *settings;
    m->look_ns = settings->interval_ns;
    m->worker = (struct hd_worker *)(void *)more;
    m->record = record != NULL ? record : (struct hd_record *)(void *)(more + round_up(hd_worker_bytes()));
    if (record == NULL) {
        own_record(m->record);
    }
    atomic_store(&m->record->clean, HD_RECORD_RUNS); /* also when it was stopped before */
    atomic_store(&m->state, HANGDOG_STATE_FOREGROUND);
    atomic_store(&m->alive, 1);
    init_clock(m);
    hd_capture_signal_init(settings->signal); /* where it fails, running threads give no answer */
    atomic_store(&monitor, m);
    rc = hd_os_thread_start(&m->monitor_thread, m->monitor_stack, sizeof m->monitor_stack, hd_monitor_run, m);
    if (rc == 0) { /* without a worker hangs would be seen and not told */
        rc = hd_os_thread_start(&m->worker_thread, m->worker_stack, sizeof m->worker_stack, hd_worker_run, m);
    }
    if (rc != 0) {
        atomic_store(&m->stopping, true);
        hd_monitor_wake(m);
        hd_os_thread_join(&m->monitor_thread);
        hd_capture_signal_end();
    }
    if (rc == 0 && record == NULL) { /* whose record it is waits later, when it has added its loop */
        hd_monitor_wait_ready(m, until_ns);
    }
    end_change(rc == 0 ? RUNNING : STOPPED);
    *out = m;
    return rc;
}

void hd_monitor_is_ready(struct hd_monitor *m) {
    atomic_fetch_add(&m->ready, 1);
    hd_os.futex_wake((uint32_t *)&m->ready, 1, false);
}

void hd_monitor_wait_ready(struct hd_monitor *m, uint64_t until_ns) {
    uint64_t most_ns = hd_os_now_ns() + HD_READY_NS;
    until_ns = until_ns < most_ns ? until_ns : most_ns;
    uint32_t threads = m->worker_thread.started ? 2 : 1;
    for (uint32_t ready; (ready = atomic_load(&m->ready)) < threads;) {
        if (hd_os.futex_wait((uint32_t *)&m->ready, ready, until_ns, false) == -ETIMEDOUT) {
            return;
        }
    }
}

/* ---- stop ----------------------------------------------------------------------------------- */

/* A worker that has not `finished` is at a disk that does not answer, and is left there. */
static void note_end(struct hd_monitor *m, bool finished, bool joined) {
    atomic_store(&m->worker_left, !finished);
    abandoned = !joined;
    astray |= !finished;
    atomic_store_explicit(&m->record->clean, finished ? HD_RECORD_STOPPED : HD_RECORD_STOPPED_EARLY,
                          memory_order_release);
}

/* With `join` the threads are gone afterwards; joining frees memory of theirs, and so may not be done where
 * malloc's locks may be held: at exit, which may be called from a handler. */
static int stop(bool join, bool leaving) {
    uint64_t until_ns = hd_os_now_ns() + HD_CALL_NS;
    int was = begin_change(false, until_ns);
    if (was != RUNNING) {
        if (was == STOPPED) {
            end_change(STOPPED);
        }
        return was < 0 ? was : 0;
    }
    struct hd_monitor *m = atomic_load(&monitor);
    if (!join) {
        hd_os_thread_detach(&m->monitor_thread);
        hd_os_thread_detach(&m->worker_thread);
    }
    atomic_store(&m->leaving, leaving);
    atomic_store(&m->stopping, true);
    hd_monitor_wake(m);
    if (join) {
        hd_os_thread_join(&m->monitor_thread);
    }
    hd_wait_while(&m->worker_done, 0, until_ns);
    bool finished = atomic_load(&m->worker_done) != 0;
    if (finished && join) {
        hd_os_thread_join(&m->worker_thread);
    }
    note_end(m, finished, finished && join);
    end_change(STOPPED);
    return 0;
}

int hd_monitor_stop(void) {
    return stop(true, false);
}

/* The same under a filter, which may forbid each system call: it is seen at the next look, nobody is woken.
 */
static void stop_without_calls(struct hd_monitor *m, bool join) {
    uint64_t was = atomic_load(&run.both), until_ns = hd_os_now_ns() + FILTER_NS;
    atomic_store(&m->stopping, true);
    if (!join || !is_alive() || (uint32_t)was != RUNNING ||
        !atomic_compare_exchange_strong(&run.both, &was, was - RUNNING + CHANGING)) {
        return;
    }
    bool gone = false;
    while (!gone && hd_os_now_ns() < until_ns) {
        gone = hd_os_thread_gone(&m->monitor_thread) && hd_os_thread_gone(&m->worker_thread);
    }
    note_end(m, gone, gone);
    atomic_store(&run.both, was - RUNNING + STOPPED);
}

void hd_monitor_leave(bool goes_on) {
    struct hd_monitor *m = atomic_load(&monitor);
    /* A thread that one under a filter has made has that too: only a watched one is known to have none. */
    bool may_be = hd_thread_is_filtered || (hd_any_is_filtered && hd_capture_own_mailbox() == NULL);
    if (atomic_load(&filtered) || may_be) {
        if (m != NULL) {
            stop_without_calls(m, goes_on);
        }
    } else if (hd_monitor_current() != NULL) {
        stop(goes_on, true);
    }
}

void hd_monitor_filtered(void) {
    struct hd_monitor *m = hd_monitor_current();
    if (m != NULL) {
        uint64_t until_ns = hd_os_now_ns() + FILTER_NS;
        atomic_store(&m->filter, HD_FILTER_COMES);
        hd_monitor_wake(m);
        hd_wait_while(&m->filter, HD_FILTER_COMES, until_ns);
    }
    atomic_store(&filtered, true);
}

void hd_monitor_unfiltered(void) {
    atomic_store(&filtered, false);
    struct hd_monitor *m = hd_monitor_current();
    if (m != NULL) {
        atomic_store(&m->filter, HD_FILTER_FAILED);
        hd_monitor_wake(m);
    }
}

/* A program that exits without hangdog_stop still gets its session report. */
__attribute__((destructor)) static void at_exit(void) {
    hd_monitor_leave(false);
}
