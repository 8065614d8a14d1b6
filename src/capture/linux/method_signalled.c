/* SPDX-License-Identifier: MIT
 *
 * The method for a thread that runs: a signal makes the thread copy its own stack. On the monitor thread: no
 * allocation, no lock.
 */
#include <errno.h>
#include <signal.h>

#include "capture/arch/machine.h"
#include "capture/linux/method.h"
#include "capture/linux/signal_handler.h"
#include "capture/watched_thread.h"
#include "os/os.h"
#include "os/ticks.h"

/* how long the monitor waits for a handler's answer that it cannot take later */
#define ANSWER_NS (50 * HD_NS_PER_MS)
/* how long the monitor waits for a handler's answer that it can also take later: only briefly, because its
 * looks must not be late */
#define LATE_NS (5 * HD_NS_PER_MS)
/* how long the monitor sleeps while a signal is pending, so that the watched thread can run even if the
 * machine has only one CPU */
#define PENDING_NS (500 * HD_NS_PER_US)
/* how long the monitor spins before it sleeps: an answer takes 15 to 30 µs, the monitor's wake-up from a
 * sleep 30 to 80 µs */
#define SPIN_NS (50 * HD_NS_PER_US)
/* the number of pauses of the CPU between two reads of `word`: together 1 to 2 µs */
#define RELAX 32
/* the monitor's first sleep between two reads of `word`: the monitor polls, so that the handler need not wake
 * it */
#define FIRST_NAP_NS (60 * HD_NS_PER_US)
#define LONGEST_NAP_NS (2 * HD_NS_PER_MS)
/* a thread that has run for this long between two checks is not inside sigwait */
#define UNBLOCKED_NS (100 * HD_NS_PER_US)
/* a stack pointer less than this below the main thread's highest stack address is on that stack: the
 * kernel maps nothing else there */
#define GROWN_MAX (128ULL << 20)

/* ---- may the signal be sent? ------------------------------------------------------------------------- */

static bool shows_blocked(const struct hd_signal_request *r, const struct hd_proc_status *status) {
    return (status->blocked >> (r->signal - 1) & 1) != 0;
}

static bool shows_pending(const struct hd_signal_request *r, const struct hd_proc_status *status) {
    return (status->pending >> (r->signal - 1) & 1) != 0;
}

/* Returns true if the thread has not blocked since the last check: it runs, or waits for a CPU. */
static bool keeps_its_switches(struct hd_signal_request *r, const struct hd_proc_status *status) {
    bool same = r->switches_known && status->voluntary == r->switches;
    r->switches = status->voluntary;
    r->switches_known = true;
    return same;
}

/* Returns whether the thread blocks the signal. Inside sigwait, /proc shows a blocked signal as unblocked.
 * So a thread that once blocked the signal counts as blocking it until two checks show the signal
 * unblocked. Between these checks the thread must also have run, and never have been blocked. */
static bool blocks(struct hd_target *t, const struct hd_proc_status *status) {
    struct hd_signal_request *r = &t->request;
    struct hd_proc_status then;
    if (!r->blocks_signal || shows_blocked(r, status)) {
        return r->blocks_signal;
    }
    uint64_t before_ns = hd_thread_files_cpu_ns(&t->files);
    if (before_ns == 0) {
        return true;
    }
    hd_capture_nap(2 * UNBLOCKED_NS);
    r->blocks_signal = hd_thread_files_status(&t->files, &then) < 0 || shows_blocked(r, &then) ||
                       then.voluntary != status->voluntary ||
                       hd_thread_files_cpu_ns(&t->files) < before_ns + UNBLOCKED_NS;
    return r->blocks_signal;
}

/* Returns the signal for further requests after the program has taken the signal `taken` for itself:
 * SIGWINCH in place of SIGURG. Returns 0 if there is no other signal. */
static int another_signal(int taken) {
    return taken == SIGURG && hd_capture_signal_init(SIGWINCH) == 0 ? SIGWINCH : 0;
}

static bool handler_is_ours(struct hd_signal_request *r) {
    struct hd_kernel_action action = {0};
    if (hd_os.signal_action(r->signal, NULL, &action) == 0 &&
        action.handler == (void *)hd_capture_on_signal) {
        return true;
    }
    r->signal = another_signal(r->signal);
    return false;
}

static bool may_send(struct hd_target *t) {
    struct hd_signal_request *r = &t->request;
    struct hd_proc_status status;

    if (!t->watched || t->mailbox == NULL || r->signal <= 0 || r->back_off.on ||
        hd_thread_files_status(&t->files, &status) < 0) {
        return false;
    }
    bool quiet = keeps_its_switches(r, &status);
    if (!hd_signal_request_passes(status.filters)) {
        return false;
    }
    r->blocks_signal |= shows_blocked(r, &status);
    bool pending = shows_pending(r, &status);
    if (pending && !shows_blocked(r, &status)) {
        hd_signal_request_is_pending(r, t->mailbox, &t->bounds);
        return false;
    }
    if (hd_signal_request_is_answering(r, t->mailbox)) {
        return false;
    }
    /* The old request is useless: its signal is lost, or the thread blocks the pending signal and may have
     * run since the request. */
    hd_signal_request_forget(r, t->mailbox);
    r->forgotten = 0;
    r->no_space = !hd_capture_mailbox_has_space(t->mailbox);
    return quiet && !pending && !r->no_space && !blocks(t, &status) && handler_is_ours(r) &&
           hd_signal_request_may_open(t->mailbox);
}

/* This check is the last before the signal. Returns whether the thread runs, and has not left its CPU since
 * `since` was read. */
static bool keeps_running(const struct hd_target *t, const struct hd_sched *since) {
    struct hd_sched now;
    enum hd_run_state state;

    if (hd_thread_clock_sched(&t->files, &now) < 0 || now.slices != since->slices) {
        return false;
    }
    if (t->files.syscall_fd >= 0) {
        return hd_thread_files_where(&t->files) == HD_PROC_RUNNING;
    }
    return hd_thread_files_state(&t->files, &state) == 0 && state == HD_RUN_RUNNABLE;
}

/* ---- the answer -------------------------------------------------------------------------------------- */

/* Waits up to `for_ns` for the handler's answer. Spins first, and then sleeps between two reads of `word`,
 * because a thread on the monitor's CPU can answer only while the monitor sleeps. Returns false if no
 * answer has come, or if the thread has ended its watch. */
static bool wait_for_answer(const struct hd_mailbox *m, uint32_t sequence, uint64_t for_ns) {
    uint64_t now = hd_os_now_ns();
    uint64_t spin_until = now + SPIN_NS, until = now + for_ns;
    uint64_t nap = FIRST_NAP_NS;

    while (!hd_signal_request_has_answer(m, sequence)) {
        now = hd_os_now_ns();
        if (now < spin_until) {
            /* Let the CPU pause, because each read of `word` takes the word's cache line from the
             * handler's CPU. */
            for (unsigned i = 0; i < RELAX; i++) {
                hd_machine_relax();
            }
            continue;
        }
        if (now >= until || __atomic_load_n(&m->ended, __ATOMIC_RELAXED) != 0) {
            return false;
        }
        hd_capture_nap(nap);
        nap = nap * 2 < LONGEST_NAP_NS ? nap * 2 : LONGEST_NAP_NS;
    }
    return true;
}

/* Converts the handler's ticks to ns, by the tick rate during the trip from the signal to the answer. The
 * handler's time is a part of the trip. A rate over a longer time may be wrong: if the machine was suspended,
 * the tick counter may have run while CLOCK_MONOTONIC stopped. */
static uint64_t handler_ns(const struct hd_instant *trip, uint64_t ticks) {
    return ticks < trip->ticks ? hd_ticks_to_ns(ticks, hd_ticks_ratio_32(trip->ns, trip->ticks)) : trip->ns;
}

static void add_pause(struct hd_capture_cost *cost, const struct hd_mailbox *m,
                      const struct hd_instant *sent) {
    uint64_t now_ns = hd_os_now_ns();
    uint64_t ticks = hd_ticks_read();
    struct hd_instant trip = {ticks - sent->ticks, now_ns - sent->ns};
    uint64_t pause_ns = handler_ns(&trip, m->ticks_end - m->ticks_begin);
    cost->pause_total_ns += pause_ns;
    cost->pause_max_ns = pause_ns > cost->pause_max_ns ? pause_ns : cost->pause_max_ns;
}

static void add_calls(struct hd_target *t) {
    uint64_t interrupted = __atomic_load_n(&t->mailbox->interrupted_syscalls, __ATOMIC_RELAXED);
    hd_signal_request_calls_broken(&t->request.back_off, t->cost.interrupted_syscalls, interrupted);
    t->cost.interrupted_syscalls = interrupted;
    t->cost.restarted_syscalls = __atomic_load_n(&t->mailbox->restarted_syscalls, __ATOMIC_RELAXED);
}

static void read_answer(struct hd_target *t, const struct hd_instant *sent, bool in_place,
                        struct hd_capture *out) {
    const struct hd_mailbox *m = t->mailbox;
    out->regs = m->regs;
    out->stack_addr = m->stack_addr;
    out->stack_bytes = m->stack_bytes < HD_STACK_BYTES_MAX ? m->stack_bytes : HD_STACK_BYTES_MAX;
    out->truncated = m->truncated;
    out->stack = m->bytes;
    out->in_place = in_place;
    out->way = HD_WAY_SIGNALLED;
    out->state = HD_RUN_RUNNING;
    out->syscall_nr = HD_SYSCALL_NONE;
    /* The sample gets the time of the request, because the monitor reads the answer later. The time that
     * has passed since the answer belongs to the next sample. */
    out->at_ns = sent->ns;
    add_pause(&t->cost, m, sent);
    add_calls(t);
    /* If the main thread's stack has grown, read its bounds again, so that the next copy is whole. */
    if (t->watched && t->bounds.hi - m->regs.sp < GROWN_MAX) {
        (void)hd_stack_bounds_have(&t->bounds, m->regs.sp, &t->files, m);
    }
}

int hd_method_signalled(struct hd_target *t, struct hd_capture *out) {
    struct hd_signal_request *r = &t->request;
    struct hd_mailbox *m = t->mailbox;

    if (!may_send(t)) {
        if (r->sequence == 0) {
            return -EAGAIN;
        }
        hd_capture_nap(PENDING_NS);
        return -EBUSY;
    }
    if (!keeps_running(t, &out->sched)) {
        return -EAGAIN;
    }
    hd_thread_clock_refresh(&t->files, &out->sched);
    uint32_t sequence = hd_signal_request_open(r, m, &t->bounds);
    struct hd_instant sent = {.ticks = hd_ticks_read(), .ns = hd_os_now_ns()};
    int rc = hd_os.signal_thread(hd_os.get_pid(), t->files.tid, r->signal, sequence);
    if (rc < 0) {
        hd_signal_request_refused(m, sequence);
        return rc;
    }
    t->cost.signals++;
    if (!wait_for_answer(m, sequence, r->in_place ? LATE_NS : ANSWER_NS) &&
        hd_signal_request_is_late(r, m, sequence, &sent)) {
        out->at_ns = sent.ns;
        return -ETIMEDOUT;
    }
    read_answer(t, &sent, r->in_place, out);
    return 0;
}

int hd_method_signalled_late(struct hd_target *t, struct hd_capture *out) {
    if (!hd_signal_request_take_late(&t->request, t->mailbox)) {
        return -EAGAIN;
    }
    read_answer(t, &t->request.sent_at, true, out);
    return 0;
}
