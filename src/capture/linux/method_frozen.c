/* SPDX-License-Identifier: MIT
 *
 * The capture methods for a thread that is not on a CPU: still, frozen and caught. The monitor copies the
 * stack while the thread is blocked. Before and after the copy the monitor reads the thread's scheduling
 * statistics and system call. If both are unchanged, the thread did not run during the copy, so the copy is
 * consistent. The thread gets no signal. On the monitor or worker thread: no allocation, no lock.
 */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "capture/arch/linux_context.h"
#include "capture/linux/method.h"
#include "os/os.h"

#define CATCH_NS (500 * HD_NS_PER_US) /* how long the capture method caught repeats its attempts */
/* after this time, the CPU clock of a thread that runs has certainly advanced */
#define RUNS_NS (50 * HD_NS_PER_US)

/* ---- still ------------------------------------------------------------------------------------------- */

static void read_futex(struct hd_capture *out) {
    out->futex_read = out->syscall_nr == SYS_futex &&
                      hd_thread_files_memory(out->syscall_args[0], out->futex_words,
                                             sizeof out->futex_words) == (long)sizeof out->futex_words;
}

static void fill(const struct hd_last_frozen *last, struct hd_capture *out) {
    memset(&out->regs, 0, sizeof out->regs);
    out->regs.pc = last->pc;
    out->regs.sp = last->sp;
    if (last->syscall_nr != HD_SYSCALL_NONE) {
        hd_machine_blocked_regs(&out->regs, last->args);
    }
    out->way = HD_WAY_FROZEN;
    out->state = last->state;
    out->syscall_nr = last->syscall_nr;
    memcpy(out->syscall_args, last->args, sizeof out->syscall_args);
}

int hd_method_still(struct hd_target *t, struct hd_capture *out) {
    enum hd_clock_proves proves = t->clock.proves;
    bool same =
        t->last.valid && proves != HD_CLOCK_NOTHING && hd_thread_clock_same(&t->last.sched, &out->sched);
    /* Without schedstat, equal statistics prove only that the thread never left a CPU. So the thread's file
     * `syscall` must also show that the thread is blocked. */
    if (!same || (proves != HD_CLOCK_REST && hd_thread_files_where(&t->files) != HD_PROC_BLOCKED)) {
        return -EAGAIN;
    }
    /* The thread is blocked. Forget its number of context switches, so that it gets a signal only after
     * two more checks with no switch between them. */
    t->request.switches_known = false;
    fill(&t->last, out);
    out->same = true;
    /* the lock that blocks the thread may have a new owner, although the thread has not run */
    read_futex(out);
    return 0;
}

/* ---- frozen ------------------------------------------------------------------------------------------ */

/* Copies a watched thread's stack by plain loads. Returns false if the stack's bounds are not known, or
 * the thread has ended the watch. The copy takes 0.1 µs. A system call could be blocked by the memory
 * map's lock, which the kernel keeps for long while a large process forks. While `reading` is not 0, the
 * thread cannot leave the watch and unmap its stack. */
static bool copy_own(struct hd_target *t, uint64_t sp, uint8_t *stack, struct hd_capture *out) {
    if (!t->watched || !hd_stack_bounds_have(&t->bounds, sp, &t->files, t->mailbox)) {
        return false;
    }
    uint64_t lo = t->bounds.lo, hi = t->bounds.hi, from = sp - HD_RED_ZONE;
    from = from < lo ? lo : from;
    uint64_t n = hi - from < HD_STACK_BYTES_MAX ? hi - from : HD_STACK_BYTES_MAX;
    __atomic_store_n(&t->mailbox->reading, 1, __ATOMIC_SEQ_CST);
    bool there = __atomic_load_n(&t->mailbox->ended, __ATOMIC_SEQ_CST) == 0;
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

/* Copies a stack by system calls. Plain loads must not read a stack if its bounds are not known, its
 * thread has ended the watch, or it is another process's. A read across the stack's end gives fewer bytes
 * or fails. After a failure the function tries to read fewer bytes. */
static void copy_other(uint64_t sp, uint8_t *stack, uint32_t capacity, struct hd_capture *out) {
    uint64_t from = sp - HD_RED_ZONE;
    uint64_t touched = hd_os_touched(sp, capacity - HD_RED_ZONE);
    uint64_t n = touched != 0 ? HD_RED_ZONE + touched : capacity;

    for (long got = 0; got <= 0 && n >= 64; n /= 4) {
        got = hd_thread_files_memory(from, stack, n);
        if (got > 0) {
            out->stack_addr = from;
            out->stack_bytes = (uint32_t)got;
            out->truncated = got == (long)capacity;
        } else if (from != sp) {
            /* Before a shorter read, repeat this read without the red zone, which may lie on an unmapped
             * page. */
            from = sp;
            n *= 4;
        }
    }
}

static bool knows_wait(const struct hd_thread_waits *w, const struct hd_proc_syscall *call) {
    return w->known && w->syscall_nr == call->nr && w->argument == call->args[0];
}

/* Returns the state in which the thread is blocked: HD_RUN_UNINTERRUPTIBLE if a signal would not wake it,
 * otherwise HD_RUN_BLOCKED. `read` is the state that the caller read before it copied the stack, or
 * HD_RUN_RUNNABLE if the caller read no state.
 *
 * The kernel shows the state in the thread's file `stat`. A read of `stat` takes five times as long as the
 * rest of a capture. A thread that reads a fast disk is blocked for only 40 µs, and would run before the
 * capture ends. So only every second capture in a system call of unknown state reads `stat` before the copy.
 * Otherwise this function reads `stat` after the copy.
 *
 * If `stat` then shows a runnable thread with unchanged statistics, another thread has just woken it. The
 * function then returns the state that an earlier capture found in the same system call. If no capture
 * found a state, the function guesses. Outside of system calls a thread is blocked only until a page is in
 * memory, and no signal wakes it. */
static enum hd_run_state kind_of_wait(struct hd_target *t, const struct hd_proc_syscall *call,
                                      enum hd_run_state read, const struct hd_sched *since) {
    struct hd_thread_waits *w = &t->waits;
    struct hd_sched now;
    if (read == HD_RUN_RUNNABLE &&
        (hd_thread_files_state(&t->files, &read) < 0 || hd_thread_clock_sched(&t->files, &now) < 0 ||
         !hd_thread_clock_same(since, &now))) {
        read = HD_RUN_RUNNABLE;
    }
    if (read == HD_RUN_BLOCKED || read == HD_RUN_UNINTERRUPTIBLE) {
        w->known = true;
        w->syscall_nr = call->nr;
        w->argument = call->args[0];
        w->state = (uint8_t)read;
    }
    if (read != HD_RUN_RUNNABLE) {
        return read;
    }
    if (knows_wait(w, call)) {
        return (enum hd_run_state)w->state;
    }
    return call->nr == HD_SYSCALL_NONE ? HD_RUN_UNINTERRUPTIBLE : HD_RUN_BLOCKED;
}

static void remember(struct hd_last_frozen *last, const struct hd_proc_syscall *call, enum hd_run_state state,
                     const struct hd_sched *sched) {
    last->pc = call->pc;
    last->sp = call->sp;
    last->syscall_nr = call->nr;
    last->state = (uint8_t)state;
    memcpy(last->args, call->args, sizeof last->args);
    last->sched = *sched;
    last->valid = true;
}

static uint8_t *buffer(const struct hd_target *t) {
    return t->copy_to != NULL ? t->copy_to : hd_signal_request_spare();
}

int hd_method_frozen(struct hd_target *t, struct hd_capture *out) {
    char before[HD_PROC_SYSCALL_BYTES], after[HD_PROC_SYSCALL_BYTES];
    struct hd_proc_syscall call, call_after;
    struct hd_sched sched;
    enum hd_run_state state = HD_RUN_RUNNABLE;
    uint8_t *stack = buffer(t);

    if (t->clock.proves == HD_CLOCK_NOTHING) {
        return -EAGAIN;
    }
    t->last.valid = false;
    long n = hd_thread_files_syscall(&t->files, before, &call);
    if (n < 0) {
        return (int)n;
    }
    if (call.where != HD_PROC_BLOCKED || stack == NULL) {
        return -EAGAIN;
    }
    if (!knows_wait(&t->waits, &call) && t->waits.tries++ % 2 == 0) {
        (void)hd_thread_files_state(&t->files, &state);
    }
    out->syscall_nr = call.nr;
    memcpy(out->syscall_args, call.args, sizeof out->syscall_args);
    if (!copy_own(t, call.sp, stack, out)) {
        copy_other(call.sp, stack, t->capacity != 0 ? t->capacity : HD_STACK_BYTES_MAX, out);
    }
    read_futex(out);
    long n_after = hd_thread_files_syscall(&t->files, after, &call_after);
    int rc = n_after < 0 ? (int)n_after : hd_thread_clock_sched(&t->files, &sched);
    if (rc < 0) {
        return rc;
    }
    if (n != n_after || memcmp(before, after, (size_t)n) != 0 || !hd_thread_clock_same(&out->sched, &sched)) {
        return -EAGAIN;
    }
    /* forget the blocked thread's number of context switches, as hd_method_still does */
    t->request.switches_known = false;
    remember(&t->last, &call, kind_of_wait(t, &call, state, &sched), &sched);
    fill(&t->last, out);
    out->stack = stack;
    return 0;
}

int hd_method_read_in_place(struct hd_target *t, struct hd_capture *out) {
    int rc = hd_method_begin_attempt(t, out);
    rc = rc == 0 ? hd_method_still(t, out) : rc;
    return rc == -EAGAIN ? hd_method_frozen(t, out) : rc;
}

/* ---- caught ------------------------------------------------------------------------------------------ */

/* Repeats still and frozen without a sleep between the attempts, because the thread is blocked only
 * briefly each time. Gives up early if the thread's CPU clock stands still. The thread is then ready to
 * run, and may need the monitor's CPU. */
int hd_method_caught(struct hd_target *t, struct hd_capture *out) {
    uint64_t begun_ns = hd_os_now_ns(), passed_ns;
    const uint64_t at_ns = out->at_ns;
    const struct hd_sched sched = out->sched;
    bool often = t->waits.often && !t->request.back_off.on && t->files.syscall_fd >= 0 && buffer(t) != NULL;
    int rc = -EAGAIN;
    t->waits.often = false;
    if (!often) {
        return -EAGAIN;
    }
    uint64_t cpu_before_ns = hd_thread_files_cpu_ns(&t->files), cpu_ns = 0;
    do {
        rc = hd_method_read_in_place(t, out);
        passed_ns = hd_os_now_ns() - begun_ns;
        if (rc == -EAGAIN && cpu_ns == 0 && passed_ns > RUNS_NS) {
            cpu_ns = hd_thread_files_cpu_ns(&t->files);
            if (cpu_ns == 0 || cpu_ns == cpu_before_ns) {
                break;
            }
        }
    } while (rc == -EAGAIN && passed_ns < CATCH_NS);
    if (rc == 0 || rc == -ESRCH) {
        return rc;
    }
    out->at_ns = at_ns;
    out->sched = sched;
    return -EAGAIN;
}
