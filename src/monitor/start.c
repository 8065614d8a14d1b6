/* SPDX-License-Identifier: MIT
 *
 * Ordinary code: starting and stopping the monitor, watching a loop. At any moment, in any order, from any
 * thread; less than 100 ms. One monitor per process. Nothing is allocated but by the two mappings taken here.
 */
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>

#include "capture/mailbox.h"
#include "monitor/monitor.h"

/* How long one call may wait in all: for its turn, then for our threads. A worker that has not finished by
 * then is abandoned. */
#define CALL_NS (90 * HD_NS_PER_MS)
/* How long the monitor is waited for that cannot be woken, or whose late signal may kill: who is under a
 * filter ends, or gets one. */
#define FILTER_NS (1 * HD_NS_PER_S)
#define READY_NS (20 * HD_NS_PER_MS)

#define BLOCK_BYTES (HD_BLOCK_LOOPS * sizeof(struct hd_watch))
_Static_assert(offsetof(struct hd_monitor, alive) % 8 == 0 && BLOCK_BYTES % 8 == 0, "hd_os_memory_clear()");

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

/* As long as the word is this, and not beyond `until_ns`. */
static void wait_while(_Atomic uint32_t *word, uint32_t is, uint64_t until_ns) {
    while (atomic_load(word) == is && hd_os.futex_wait((uint32_t *)word, is, until_ns, false) != -ETIMEDOUT) {
    }
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

/* What threads left in slots that had no next watch: the monitor that might have read it has ended. */
static void give_what_is_left(struct hd_monitor *m) {
    for (unsigned i = 0, n = atomic_load(&m->slots); i < n; i++) {
        void *memory = atomic_load(&hd_watch_at(m, i)->left);
        if (memory != NULL) {
            hd_os_memory_give(memory, hd_capture_thread_bytes());
        }
    }
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
        give_what_is_left(m);
        for (unsigned i = 0; i < HD_BLOCKS - 1 && m->more[i] != NULL; i++) {
            hd_os_memory_clear(m->more[i], BLOCK_BYTES);
        }
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
    hd_uuid_make(r->options.session, r->options.started_wall_ns);
}

int hd_monitor_start(const struct hd_settings *settings, struct hd_record *record, struct hd_monitor **out) {
    hd_os_clock_init();
    uint64_t until_ns = hd_os_now_ns() + CALL_NS;
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
    uint64_t most_ns = hd_os_now_ns() + READY_NS;
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
    uint64_t until_ns = hd_os_now_ns() + CALL_NS;
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
    wait_while(&m->worker_done, 0, until_ns);
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
        wait_while(&m->filter, HD_FILTER_COMES, until_ns);
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

/* ---- loops ---------------------------------------------------------------------------------- */

/* From here to leave_watches() the watches are not zeroed by a next start. False: a stop was quicker. */
static bool enter_watches(struct hd_monitor *m) {
    atomic_fetch_add(&m->entering, 1);
    if (atomic_load(&run.half.phase) == RUNNING && atomic_load(&monitor) == m) {
        return true;
    }
    atomic_fetch_sub(&m->entering, 1);
    return false;
}

static void leave_watches(struct hd_monitor *m) {
    atomic_fetch_sub(&m->entering, 1);
}

/* The block that slot `i` is in is there from now on; false: there is no memory for it. */
static bool have_block(struct hd_monitor *m, unsigned i) {
    if (i < HD_BLOCK_LOOPS || atomic_load(&m->more[i / HD_BLOCK_LOOPS - 1]) != NULL) {
        return true;
    }
    struct hd_watch *none = NULL, *made = hd_os_memory_take(BLOCK_BYTES);
    if (made != NULL && !atomic_compare_exchange_strong(&m->more[i / HD_BLOCK_LOOPS - 1], &none, made)) {
        hd_os_memory_give(made, BLOCK_BYTES); /* another thread was quicker */
    }
    return made != NULL;
}

static struct hd_watch *claim(struct hd_monitor *m) {
    for (unsigned i = 0; i < HD_LOOPS_MAX && have_block(m, i); i++) {
        struct hd_watch *w = hd_watch_at(m, i);
        uint32_t free = HD_WATCH_FREE;
        if (atomic_compare_exchange_strong(&w->use, &free, HD_WATCH_CLAIMED)) {
            uint32_t slots = atomic_load(&m->slots);
            while (slots <= i && !atomic_compare_exchange_weak(&m->slots, &slots, i + 1)) {
            }
            w->index = (uint8_t)i;
            return w;
        }
    }
    return NULL;
}

/* What a watch on the calling thread has left that a stop has ended. */
static void give_left_over(void) {
    void *memory = hd_capture_thread_left_over();
    if (memory != NULL) {
        hd_os_memory_give(memory, hd_capture_thread_bytes());
    }
}

/* A stop goes on, or is over: our stack is not read any more when this returns. */
void hd_watch_leave_stopped(void) {
    uint64_t until_ns = hd_os_now_ns() + CALL_NS;
    wait_while(&run.half.phase, CHANGING, until_ns);
    give_left_over();
    struct hd_mailbox *own = hd_capture_own_mailbox();
    if (own != NULL && own->tid == hd_os.get_tid()) {
        (void)hd_capture_thread_leave(own); /* not closed yet: better lost */
    }
}

/* What the main thread did since the start was the launch, if no loop was idle yet. */
static uint64_t launched_ns(const struct hd_monitor *m, uint64_t now_ns) {
    uint64_t started_ns = m->record->options.started_ns;
    bool launches = hd_os.get_tid() == hd_os.get_pid() && atomic_load(&m->record->launch_ns) == 0;
    return launches && now_ns - started_ns < HD_LAUNCH_KNOWN_NS ? started_ns : now_ns;
}

static struct hd_watch *add(struct hd_monitor *m, const char *name, uint64_t threshold_ns,
                            uint64_t start_ns) {
    struct hd_watch *w = claim(m);
    if (w == NULL) {
        return NULL;
    }
    give_left_over();
    size_t bytes = hd_capture_thread_bytes();
    const struct hd_mailbox *other = hd_capture_own_mailbox();
    bool second = other != NULL && other->tid == hd_os.get_tid(); /* signals find the first one's mailbox */
    w->mailbox = NULL;
    w->thread_memory = second ? NULL : atomic_exchange(&w->left, NULL);
    if (!second && w->thread_memory == NULL) {
        w->thread_memory = hd_os_memory_take(bytes);
    }
    if (!second &&
        (w->thread_memory == NULL || hd_capture_thread_enter(w->thread_memory, &w->mailbox) != 0)) {
        if (w->thread_memory != NULL) {
            hd_os_memory_give(w->thread_memory, bytes);
        }
        atomic_store(&w->use, HD_WATCH_FREE);
        return NULL;
    }
    w->generation++;
    w->threshold_ns = threshold_ns;
    size_t n = strnlen(name, sizeof w->name - 1);
    for (size_t i = 0; i <= n; i++) {
        __atomic_store_n(&w->name[i], i < n ? name[i] : '\0', __ATOMIC_RELAXED);
    }
    uint64_t since_ns = hd_os_now_ns();
    start_ns = start_ns == HD_SINCE_LAUNCH ? launched_ns(m, since_ns) : start_ns;
    atomic_store_explicit(&w->since_ns, since_ns, memory_order_relaxed);
    uint64_t ticks = m->ticks_are_tsc ? hd_ticks_read() : since_ns;
    uint64_t ago_ns = since_ns > start_ns ? since_ns - start_ns : 0;
    uint64_t rate = atomic_load_explicit(&m->clock.ns_per_tick_32, memory_order_relaxed);
    hd_loop_init(&w->loop, &m->wake, hd_os.get_tid(), m->ticks_are_tsc, rate,
                 ticks - hd_ratio_32(ago_ns, rate), true);
    uint32_t use = HD_WATCH_NEW;
    atomic_store(&w->use, HD_WATCH_NEW);
    if (atomic_load(&m->closed) && atomic_compare_exchange_strong(&w->use, &use, HD_WATCH_CLAIMED)) {
        if (w->mailbox != NULL) { /* it came after a stop's last look: nobody else closes it */
            hd_capture_thread_closed(w->mailbox);
        }
        atomic_store(&w->use, HD_WATCH_FREE);
        give_left_over();
        return NULL;
    }
    hd_monitor_wake(m);
    return w;
}

struct hd_watch *hd_watch_add(struct hd_monitor *m, const char *name, uint64_t threshold_ns,
                              uint64_t start_ns) {
    struct hd_watch *w = NULL;
    if (enter_watches(m)) {
        w = add(m, name, threshold_ns, start_ns);
        leave_watches(m);
    }
    return w;
}

void hd_watch_wait_open(struct hd_monitor *m, struct hd_watch *w) {
    if (enter_watches(m)) {
        wait_while(&w->use, HD_WATCH_NEW, hd_os_now_ns() + READY_NS);
        leave_watches(m);
    }
}

static void remove_watch(struct hd_monitor *m, struct hd_watch *w) {
    if (w->loop.tid != hd_os.get_tid()) { /* a handle of a run before: the slot is another thread's by now */
        give_left_over();
        return;
    }
    void *memory = w->thread_memory; /* read before the slot is given back: it may be another's at once */
    uint32_t use = atomic_load(&w->use);
    bool late = false;
    while (use == HD_WATCH_NEW || use == HD_WATCH_ON) {
        if (!atomic_compare_exchange_strong(&w->use, &use, HD_WATCH_LEAVING)) {
            continue;
        }
        hd_monitor_wake(m);
        uint64_t until_ns = hd_os_now_ns() + CALL_NS;
        wait_while(&w->use, HD_WATCH_LEAVING, until_ns);
        late = atomic_load(&w->use) == HD_WATCH_LEAVING;
        break;
    }
    if (!late) { /* the monitor has closed it, for us or for a stop, and its mailbox says so */
        give_left_over();
        return;
    }
    struct hd_mailbox *mailbox = memory != NULL ? hd_capture_own_mailbox() : NULL;
    if (mailbox == NULL || hd_capture_thread_leave(mailbox) != 0) {
        return; /* a handler runs on that memory: better lost */
    }
    /* the slot's next watch has it; what an earlier one left there is nobody's any more */
    memory = atomic_exchange(&w->left, memory);
    if (memory != NULL) {
        hd_os_memory_give(memory, hd_capture_thread_bytes());
    }
}

void hd_watch_remove(struct hd_monitor *m, struct hd_watch *w) {
    if (enter_watches(m)) {
        remove_watch(m, w);
        leave_watches(m);
    } else {
        hd_watch_leave_stopped();
    }
}
