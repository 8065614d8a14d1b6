/* SPDX-License-Identifier: MIT */
#include "watch/run.h"

#include <errno.h>

#include "watch/futex.h"

/* A forked child starts with its parent's values of these static variables. So the phase is valid only in the
 * process with the number `pid`. The phase and `pid` change in one atomic step. So if two threads of a child
 * start Hangdog at one time, the second one sees the change by the first. */
static union {
    _Atomic uint64_t both;
    struct {
        _Atomic uint32_t phase; /* a futex word */
        _Atomic uint32_t pid;
    } half;
} change;
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the phase is the lower half");
static struct hd_run *_Atomic run;

static uint64_t ours(enum hd_run_phase phase) {
    return (uint64_t)(uint32_t)hd_os.get_pid() << 32 | (uint64_t)phase;
}

bool hd_run_is_alive(void) {
    return atomic_load_explicit(&atomic_load(&run)->alive, memory_order_relaxed) != 0;
}

struct hd_run *hd_run_current(void) {
    /* This function reads the phase first, because `run` is set before the phase becomes RUNNING. */
    uint64_t now = atomic_load_explicit(&change.both, memory_order_acquire);
    bool on = (uint32_t)now == HD_PHASE_RUNNING && hd_run_is_alive() && now == ours(HD_PHASE_RUNNING);
    return on ? atomic_load_explicit(&run, memory_order_acquire) : NULL;
}

struct hd_run *hd_run_last(void) {
    return atomic_load(&run);
}

void hd_run_set(struct hd_run *r) {
    atomic_store(&run, r);
}

void hd_run_end_change(enum hd_run_phase now) {
    atomic_store_explicit(&change.both, ours(now), memory_order_release);
    hd_futex_wake_all(&change.half.phase);
}

/* A forked child has no run of its own, so its phase counts as STOPPED. The process is a forked child if the
 * stored process number is not its own. In a PID namespace parent and child may have equal numbers. In this
 * case hd_run_is_alive() returns false, because the kernel has wiped the run's memory. While another thread
 * starts Hangdog, hd_run_is_alive() may return false too. So this function calls it again after storing
 * CHANGING, which keeps other threads from starting Hangdog. */
int hd_run_start_change(bool starts, uint64_t until_ns) {
    uint64_t mine = ours(HD_PHASE_CHANGING);
    for (;;) {
        uint64_t was = atomic_load(&change.both);
        enum hd_run_phase phase =
            was >> 32 == mine >> 32 ? (enum hd_run_phase)(uint32_t)was : HD_PHASE_STOPPED;
        if (phase == HD_PHASE_CHANGING) {
            if (hd_os.futex_wait((uint32_t *)&change.half.phase, HD_PHASE_CHANGING, until_ns, false) ==
                -ETIMEDOUT) {
                return -EBUSY;
            }
        } else if (starts && phase == HD_PHASE_RUNNING && hd_run_is_alive()) {
            return -EALREADY;
        } else if (atomic_compare_exchange_strong(&change.both, &was, mine)) {
            if (phase != HD_PHASE_RUNNING || !hd_run_is_alive()) {
                return HD_PHASE_STOPPED;
            }
            if (!starts) {
                return HD_PHASE_RUNNING;
            }
            /* another thread has started a run in the meantime, so this call keeps that run */
            hd_run_end_change(HD_PHASE_RUNNING);
        }
    }
}

bool hd_run_has(const struct hd_run *r) {
    return atomic_load(&change.half.phase) == HD_PHASE_RUNNING && atomic_load(&run) == r;
}

void hd_run_wait_changed(uint64_t until_ns) {
    hd_futex_wait_while(&change.half.phase, HD_PHASE_CHANGING, until_ns);
}

void hd_run_wake(struct hd_run *r) {
    hd_futex_add_and_wake(&r->channel.wake);
}

void hd_run_is_ready(struct hd_run *r) {
    hd_futex_add_and_wake(&r->channel.threads.ready);
}

void hd_run_wait_ready(struct hd_run *r, uint64_t until_ns) {
    uint64_t most_ns = hd_os_now_ns() + HD_READY_NS;
    until_ns = until_ns < most_ns ? until_ns : most_ns;
    struct hd_channel_threads *threads = &r->channel.threads;
    for (uint32_t ready; (ready = atomic_load(&threads->ready)) < threads->count;) {
        if (hd_os.futex_wait((uint32_t *)&threads->ready, ready, until_ns, false) == -ETIMEDOUT) {
            return;
        }
    }
}
