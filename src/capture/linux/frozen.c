/* SPDX-License-Identifier: MIT
 *
 * Rung 1: a thread that is off its processor is read in place, between two looks at its scheduling figures
 * and at its system call: when all are equal, it never moved. Nothing is sent to it. Monitor: no allocation,
 * no lock.
 */
#include "capture/linux/frozen.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "capture/arch/machine.h"
#include "capture/linux/target.h"
#include "capture/mailbox.h"
#include "os/os.h"

static bool same_sched(const struct hd_sched *a, const struct hd_sched *b) {
    return a->slices == b->slices && a->cpu_ns == b->cpu_ns && a->delay_ns == b->delay_ns;
}

static void read_futex(struct hd_capture *out) {
    out->futex_read = out->syscall_nr == SYS_futex &&
                      hd_target_read_memory(out->syscall_args[0], out->futex_words,
                                            sizeof out->futex_words) == (long)sizeof out->futex_words;
}

/* Plain memory: some 0.1 µs, and it does not wait for the memory map's lock, as fallible reads do while a
 * large process forks. The thread cannot leave (and end, and unmap its stack) meanwhile. */
static bool copy_own(struct hd_target *t, uint64_t sp, uint8_t *stack, struct hd_capture *out) {
    uint64_t lo, hi;

    if (!hd_target_bounds(t, sp, &lo, &hi)) {
        return false;
    }
    uint64_t from = sp - HD_RED_ZONE;

    from = from < lo ? lo : from;
    uint64_t n = hi - from < HD_STACK_BYTES_MAX ? hi - from : HD_STACK_BYTES_MAX;
    __atomic_store_n(&t->mailbox->reading, 1, __ATOMIC_SEQ_CST);
    bool there = __atomic_load_n(&t->mailbox->left, __ATOMIC_SEQ_CST) == 0;
    if (there) {
        hd_machine_copy(stack, (const void *)from, n);
    }
    __atomic_store_n(&t->mailbox->reading, 0, __ATOMIC_SEQ_CST);
    if (!there) {
        return false;
    }
    out->stack_addr = from;
    out->stack_bytes = (uint32_t)n;
    out->truncated = n < hi - from;
    return true;
}

/* Any other stack: it may end anywhere, and a read that meets the end is short, or fails whole. */
static void copy_other(uint64_t sp, uint8_t *stack, uint32_t room, struct hd_capture *out) {
    uint64_t from = sp - HD_RED_ZONE;
    uint64_t touched = hd_os_touched(sp, room - HD_RED_ZONE);
    uint64_t n = touched != 0 ? HD_RED_ZONE + touched : room;

    for (long got = 0; got <= 0 && n >= 64; n /= 4) {
        got = hd_target_read_memory(from, stack, n);
        if (got > 0) {
            out->stack_addr = from;
            out->stack_bytes = (uint32_t)got;
            out->truncated = got == (long)room;
        } else if (from != sp) {
            from = sp; /* the red zone may lie below the stack's end */
            n *= 4;
        }
    }
}

static void fill_still(const struct hd_target *t, struct hd_capture *out) {
    memset(&out->regs, 0, sizeof out->regs);
    out->regs.pc = t->still.pc;
    out->regs.sp = t->still.sp;
    if (t->still.syscall_nr != HD_SYSCALL_NONE) {
        hd_machine_blocked_regs(&out->regs, t->still.args);
    }
    out->way = HD_WAY_FROZEN;
    out->state = t->still.state;
    out->syscall_nr = t->still.syscall_nr;
    memcpy(out->syscall_args, t->still.args, sizeof out->syscall_args);
}

static bool knows_wait(const struct hd_target *t, const struct hd_proc_syscall *call) {
    return t->wait_known && t->wait_nr == call->nr && t->wait_arg == call->args[0];
}

/* Whether a signal would end the wait. That takes five times as long to read as all else, and a fast disk's
 * waits are over in 40 us: it is read when the stack is safe, and holds where it can be proven. Else it is
 * what it was in the call's last wait of which it is known, or a guess: outside of calls threads wait for
 * pages only. One that is ready, and ran no more, was woken only now. */
static enum hd_run_state kind_of_wait(struct hd_target *t, const struct hd_proc_syscall *call,
                                      enum hd_run_state read, const struct hd_sched *since) {
    struct hd_sched now;
    if (read == HD_RUN_RUNNABLE &&
        (hd_target_state(t, &read) < 0 || hd_capture_sched(t, &now) < 0 || !same_sched(since, &now))) {
        read = HD_RUN_RUNNABLE;
    }
    if (read == HD_RUN_BLOCKED || read == HD_RUN_UNINTERRUPTIBLE) {
        t->wait_known = true;
        t->wait_nr = call->nr;
        t->wait_arg = call->args[0];
        t->wait_state = (uint8_t)read;
    }
    if (read != HD_RUN_RUNNABLE) {
        return read;
    }
    if (knows_wait(t, call)) {
        return (enum hd_run_state)t->wait_state;
    }
    return call->nr == HD_SYSCALL_NONE ? HD_RUN_UNINTERRUPTIBLE : HD_RUN_BLOCKED;
}

static void remember(struct hd_target *t, const struct hd_proc_syscall *call, enum hd_run_state state,
                     const struct hd_sched *sched) {
    t->still.pc = call->pc;
    t->still.sp = call->sp;
    t->still.syscall_nr = call->nr;
    t->still.state = (uint8_t)state;
    memcpy(t->still.args, call->args, sizeof t->still.args);
    t->last = *sched;
    t->last_valid = true;
}

int hd_frozen_take(struct hd_target *t, uint8_t *stack, struct hd_capture *out) {
    char before[HD_PROC_SYSCALL_BYTES], after[HD_PROC_SYSCALL_BYTES];
    struct hd_proc_syscall call, call_after;
    struct hd_sched sched;
    enum hd_run_state state = HD_RUN_RUNNABLE;
    bool counted;
    long n = 0;

    out->at_ns = hd_os_now_ns();
    int rc = hd_target_sched(t, &out->sched, &counted);
    if (rc < 0) {
        return rc;
    }
    bool still = t->last_valid && same_sched(&t->last, &out->sched);
    t->last_valid = false;
    if (!still || !counted) { /* where only leaving is counted, one that woke and runs shows in its call */
        n = hd_target_syscall(t, before, &call);
        if (n < 0) {
            return (int)n;
        }
        if (call.where != HD_PROC_BLOCKED) {
            return -EAGAIN;
        }
    }
    if (still) {
        t->last_valid = true;
        fill_still(t, out);
        out->same = true;
        read_futex(out); /* its owner may have changed, without this thread running */
        return 0;
    }
    if (stack == NULL) {
        return -EAGAIN;
    }
    /* of a call that is not known yet at every other try, where the wait may be too short for it */
    if (!knows_wait(t, &call) && t->wait_tries++ % 2 == 0) {
        (void)hd_target_state(t, &state);
    }
    out->syscall_nr = call.nr;
    memcpy(out->syscall_args, call.args, sizeof out->syscall_args);
    if (!copy_own(t, call.sp, stack, out)) {
        copy_other(call.sp, stack, t->room != 0 ? t->room : HD_STACK_BYTES_MAX, out);
    }
    read_futex(out);
    long n_after = hd_target_syscall(t, after, &call_after);
    rc = n_after < 0 ? (int)n_after : hd_capture_sched(t, &sched);
    if (rc < 0) {
        return rc;
    }
    if (n != n_after || memcmp(before, after, (size_t)n) != 0 || !same_sched(&out->sched, &sched)) {
        return -EAGAIN;
    }
    remember(t, &call, kind_of_wait(t, &call, state, &sched), &sched);
    fill_still(t, out);
    out->stack = stack;
    return 0;
}
