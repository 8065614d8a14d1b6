/* SPDX-License-Identifier: MIT
 *
 * The ladder: frozen, signalled, kernel; the first rung that works. Monitor: no allocation, no lock.
 */
#include "capture/capture.h"

#include <errno.h>
#include <string.h>

#include "capture/linux/frozen.h"
#include "capture/linux/signalled.h"
#include "capture/linux/target.h"
#include "os/os.h"

#define RETRY_NS (5 * HD_NS_PER_MS) /* for a thread that is neither blocked nor known to keep running */
#define BETWEEN_NS (500 * HD_NS_PER_US)
#define BRIEFEST_NS (20 * HD_NS_PER_US) /* who runs and waits in less is in no wait for long enough */
#define RUNS_NS (50 * HD_NS_PER_US)     /* in which a thread that runs is seen to */

static void clear(struct hd_capture *out) {
    memset(out, 0, sizeof *out);
    out->syscall_nr = HD_SYSCALL_NONE;
}

static int gone(struct hd_capture *out) {
    uint64_t at_ns = out->at_ns;
    clear(out);
    out->at_ns = at_ns;
    out->way = HD_WAY_KERNEL;
    out->state = HD_RUN_GONE;
    return -ESRCH;
}

/* Rung 3: what the kernel says of it since the look before, whose figures are in *out, and no frames. */
static int by_kernel(struct hd_target *t, struct hd_capture *out) {
    struct hd_proc_syscall call;
    char text[HD_PROC_SYSCALL_BYTES];
    struct hd_sched before = out->sched;
    enum hd_run_state state = HD_RUN_RUNNABLE;

    clear(out);
    out->at_ns = hd_os_now_ns();
    out->way = HD_WAY_KERNEL;
    int rc = hd_target_state(t, &state);
    if (rc == -ESRCH || state == HD_RUN_GONE || hd_capture_sched(t, &out->sched) == -ESRCH) {
        return gone(out);
    }
    /* R is both; a thread that got no time since the look before was waiting for a processor. The figures of
     * one that runs may be as old as the kernel's last tick, its clock is not. */
    bool ran = out->sched.slices != before.slices || !hd_capture_rests(t, &before);
    if (state == HD_RUN_RUNNABLE) { /* or not to be had */
        state = ran ? HD_RUN_RUNNING : rc < 0 ? HD_RUN_BLOCKED : state;
    }
    hd_capture_sched_now(t, &out->sched);
    out->state = (uint8_t)state;
    out->no_room = t->no_room && (state == HD_RUN_RUNNING || state == HD_RUN_RUNNABLE);
    if (hd_target_syscall(t, text, &call) > 0 && call.where == HD_PROC_BLOCKED) {
        out->syscall_nr = call.nr;
        memcpy(out->syscall_args, call.args, sizeof out->syscall_args);
    }
    return 0;
}

/* The last look before the signal: still on the processor, and never off it since the figures were read. */
static bool keeps_running(const struct hd_target *t, const struct hd_sched *since) {
    struct hd_proc_syscall call;
    char text[HD_PROC_SYSCALL_BYTES];
    struct hd_sched now;
    enum hd_run_state state;

    if (hd_capture_sched(t, &now) < 0 || now.slices != since->slices) {
        return false;
    }
    if (t->syscall_fd >= 0) {
        return hd_target_syscall(t, text, &call) > 0 && call.where == HD_PROC_RUNNING;
    }
    return hd_target_state(t, &state) == 0 && state == HD_RUN_RUNNABLE;
}

/* One attempt at the first two rungs. 0, -ESRCH, -ETIMEDOUT (asked, no answer), or -EAGAIN. */
static int attempt(struct hd_target *t, bool lend, struct hd_capture *out) {
    clear(out);
    int rc = hd_frozen_take(t, hd_signalled_spare(), out);
    if (rc == 0) {
        t->voluntary_valid = false; /* a thread that was blocked at one look must be seen running at two */
    }
    if (rc == 0 || rc == -ESRCH) {
        return rc;
    }
    struct hd_sched since = out->sched;
    uint64_t at_ns = out->at_ns;
    clear(out);
    out->sched = since;
    out->at_ns = at_ns;
    if (!hd_signalled_allowed(t, lend)) {
        return t->request != 0 ? -ETIMEDOUT : -EAGAIN;
    }
    if (!keeps_running(t, &since)) {
        return -EAGAIN;
    }
    hd_capture_sched_now(t, &out->sched); /* of the instant that the sample is of */
    rc = hd_signalled_take(t, lend, out);
    return rc == 0 || rc == -ESRCH || rc == -ETIMEDOUT ? rc : -EAGAIN;
}

/* Since the last capture, and may be met in its waits. */
static bool switches_often(struct hd_target *t, const struct hd_capture *now) {
    uint64_t passed_ns = now->at_ns - t->taken_ns, switches = now->sched.slices - t->taken_slices;
    bool known = t->taken_slices != 0 && now->sched.slices > t->taken_slices;
    t->taken_ns = now->at_ns;
    t->taken_slices = now->sched.slices;
    return known && t->syscall_fd >= 0 && hd_signalled_spare() != NULL && switches > passed_ns / BETWEEN_NS &&
           switches < passed_ns / BRIEFEST_NS;
}

/* Rung 1 again and again, for as long as a nap would be: for a thread whose waits are short, and often. Not
 * for one that waits for a processor meanwhile, perhaps for ours. 0, -ESRCH or -EAGAIN. */
static int catch_waiting(struct hd_target *t, struct hd_capture *out) {
    uint64_t begun_ns = hd_os_now_ns(), passed_ns = 0, cpu_before_ns = 0, cpu_ns = 0;
    int rc;
    (void)hd_os.thread_cpu_clock(hd_thread_id_tid(t->thread), &cpu_before_ns);
    do {
        clear(out);
        rc = hd_frozen_take(t, hd_signalled_spare(), out);
        passed_ns = hd_os_now_ns() - begun_ns;
        if (rc == -EAGAIN && cpu_ns == 0 && passed_ns > RUNS_NS &&
            (hd_os.thread_cpu_clock(hd_thread_id_tid(t->thread), &cpu_ns) < 0 || cpu_ns == cpu_before_ns)) {
            break;
        }
    } while (rc == -EAGAIN && passed_ns < BETWEEN_NS);
    t->voluntary_valid &= rc != 0;
    return rc == 0 || rc == -ESRCH ? rc : -EAGAIN;
}

int hd_capture_take(struct hd_target *t, bool lend, struct hd_capture *out) {
    uint64_t until = hd_os_now_ns() + RETRY_NS;
    uint64_t signals = t->cost.signals;
    t->back_off = hd_target_backs_off(t);
    hd_signalled_begin(t);
    lend = lend && hd_capture_may_lend(t);
    int rc = attempt(t, lend, out);
    struct hd_sched first = out->sched;

    if (switches_often(t, out) && rc == -EAGAIN && !t->back_off) {
        rc = catch_waiting(t, out);
    }
    while (rc == -EAGAIN && hd_os_now_ns() < until && !t->back_off) {
        hd_capture_nap(BETWEEN_NS);
        rc = attempt(t, lend, out);
    }
    if (rc == 0) {
        t->cost.samples++;
        return 0;
    }
    bool unanswered = rc == -ETIMEDOUT, before = unanswered && t->cost.signals == signals;
    if (before) { /* nobody has waited since, and on one processor it stood still for us */
        hd_capture_nap(BETWEEN_NS);
    }
    struct hd_sched sched_before = out->sched;
    out->sched = first; /* some milliseconds old; the last attempt's are of this moment */
    if (rc == -ESRCH) {
        return gone(out);
    }
    int result = by_kernel(t, out);
    if (result == 0 && unanswered && !before) { /* what is answered later is of that instant, too */
        out->at_ns = t->requested_at.ns;
        out->sched = sched_before;
    }
    return result;
}

int hd_capture_frozen(struct hd_target *t, uint8_t *stack, struct hd_capture *out) {
    clear(out);
    int rc = hd_frozen_take(t, stack, out);
    if (rc == 0) {
        t->cost.samples++;
        return 0;
    }
    if (rc == -ESRCH) {
        return gone(out);
    }
    out->way = HD_WAY_KERNEL;
    out->stack_bytes = 0;
    out->state = HD_RUN_RUNNING;
    return rc;
}
