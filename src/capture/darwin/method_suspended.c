/* SPDX-License-Identifier: MIT
 *
 * The capture method suspended. A suspended thread may have any lock of the process: malloc's, the loader's.
 * So between suspend and resume the function copy_suspended calls only hd_mach.registers and hd_mach.read,
 * and copies bytes. No other function suspends a thread. On the monitor or worker thread: no allocation, no
 * lock.
 */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "capture/arch/machine.h"
#include "capture/darwin/method.h"
#include "capture/darwin/registers.h"
#include "os/os.h"

/* how often, and how long each time, a capture waits while another thread of ours has suspended a thread */
#define TURN_TRIES 20u
#define TURN_NS (50 * HD_NS_PER_US)
#define RESUME_TRIES 8u

/* The process's number while a thread is suspended, so that the monitor and the worker never suspend two at
 * once. In a forked child, the parent's number does not count. */
static atomic_uint suspending_pid;

/* ---- the stack --------------------------------------------------------------------------------- */

/* Copies a watched thread's stack by plain loads. Returns false if the stack pointer is not within the bounds
 * that the thread stored, or if the thread has ended the watch. While `reading` is not 0, the thread cannot
 * leave the watch and unmap its stack. */
static bool copy_known(struct hd_target *t, uint64_t sp, uint8_t *stack, struct hd_capture *out) {
    if (!t->watched || !hd_stack_bounds_have(&t->bounds, sp, &t->files, t->mailbox)) {
        return false;
    }
    uint64_t lo = t->bounds.lo, hi = t->bounds.hi;
    uint64_t from = lo + HD_RED_ZONE > sp ? lo : sp - HD_RED_ZONE;
    uint64_t n = hi - from < HD_STACK_BYTES_MAX ? hi - from : HD_STACK_BYTES_MAX;
    __atomic_store_n(&t->mailbox->reading, 1, __ATOMIC_SEQ_CST);
    bool there = __atomic_load_n(&t->mailbox->ended, __ATOMIC_SEQ_CST) == 0;
    if (there) {
        hd_machine_copy(stack, (const void *)(uintptr_t)from, n);
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

/* Copies a stack by reads that may fail. The red zone may lie on an unmapped page, so the function then reads
 * from the stack pointer. */
static void copy_unknown(uint64_t sp, uint8_t *stack, uint32_t capacity, struct hd_capture *out) {
    uint64_t from = sp - HD_RED_ZONE;
    long got = hd_thread_files_memory(from, stack, capacity);
    if (got <= 0 && from != sp) {
        from = sp;
        got = hd_thread_files_memory(from, stack, capacity);
    }
    if (got > 0) {
        out->stack_addr = from;
        out->stack_bytes = (uint32_t)got;
        out->truncated = got == (long)capacity;
    }
}

/* ---- suspend and resume ------------------------------------------------------------------------ */

/* Suspends the thread, copies registers and stack, and resumes the thread. Whatever fails in between, the
 * thread is resumed. -ESRCH: the thread has ended, and nothing is left to resume. */
static int copy_suspended(struct hd_target *t, uint8_t *stack, struct hd_mach_registers *registers,
                          struct hd_capture *out) {
    uint64_t begun_ns = hd_os_now_ns();
    int rc = hd_mach.suspend(t->files.port);
    if (rc != 0) {
        return rc;
    }
    rc = hd_mach.registers(t->files.port, registers);
    if (rc == 0 && !copy_known(t, registers->sp, stack, out)) {
        copy_unknown(registers->sp, stack, t->capacity != 0 ? t->capacity : HD_STACK_BYTES_MAX, out);
    }
    int resumed = hd_mach.resume(t->files.port);
    for (unsigned i = 1; resumed != 0 && resumed != -ESRCH && i < RESUME_TRIES; i++) {
        resumed = hd_mach.resume(t->files.port);
    }
    uint64_t pause_ns = hd_os_now_ns() - begun_ns;
    t->cost.pause_total_ns += pause_ns;
    t->cost.pause_max_ns = pause_ns > t->cost.pause_max_ns ? pause_ns : t->cost.pause_max_ns;
    return resumed == -ESRCH ? -ESRCH : rc;
}

/* Waits until no other thread of ours has suspended a thread: a millisecond at most. */
static bool take_turn(void) {
    unsigned own = (unsigned)hd_os.get_pid();
    for (unsigned i = 0; i < TURN_TRIES; i++) {
        unsigned now = atomic_load(&suspending_pid);
        if (now != own && atomic_compare_exchange_strong(&suspending_pid, &now, own)) {
            return true;
        }
        hd_os_nap(TURN_NS);
    }
    return false;
}

/* ---- the capture ------------------------------------------------------------------------------- */

static void fill(const struct hd_last_frozen *last, struct hd_capture *out) {
    out->way = HD_WAY_SUSPENDED;
    out->state = last->state;
    out->syscall_nr = last->syscall_nr;
    memcpy(out->syscall_args, last->args, sizeof out->syscall_args);
    out->regs.pc = last->pc;
    out->regs.sp = last->sp;
}

/* Stores the call that a waiting thread is in. A thread that waits for a page of memory is in none: the
 * instruction before its pc enters no kernel. The thread is not suspended any more, but code does not change.
 */
static void find_call(const struct hd_mach_registers *registers, struct hd_capture *out) {
    uint8_t code[HD_CALL_BYTES];
    if (hd_mach.read(registers->pc - sizeof code, code, sizeof code) == 0 && hd_registers_is_call(code)) {
        out->syscall_nr = hd_registers_call(registers);
        hd_registers_arguments(out->syscall_args, registers);
    }
}

/* If the thread waited before and after the copy, and has not run in between, the copy is that of a waiting
 * thread. The next capture then compares its CPU time. */
static void see_state(struct hd_target *t, const struct hd_mach_registers *registers,
                      struct hd_capture *out) {
    struct hd_thread_clock after;
    out->state = HD_RUN_RUNNING;
    if (hd_thread_clock_read(&t->files, &after) != 0 || after.proves != HD_CLOCK_REST ||
        t->clock.proves != HD_CLOCK_REST || !hd_thread_clock_same(&after.sched, &out->sched)) {
        return;
    }
    out->state = after.state;
    find_call(registers, out);
    t->last = (struct hd_last_frozen){.valid = out->stack_bytes != 0,
                                      .state = out->state,
                                      .syscall_nr = out->syscall_nr,
                                      .sched = after.sched,
                                      .pc = out->regs.pc,
                                      .sp = out->regs.sp};
    memcpy(t->last.args, out->syscall_args, sizeof t->last.args);
}

int hd_method_suspended(struct hd_target *t, struct hd_capture *out) {
    struct hd_mach_registers registers;
    uint8_t *stack = t->copy_to != NULL ? t->copy_to : hd_signal_request_spare();

    if (t->last.valid && t->clock.proves == HD_CLOCK_REST &&
        hd_thread_clock_same(&t->last.sched, &out->sched)) {
        fill(&t->last, out);
        out->same = true;
        return 0;
    }
    t->last.valid = false;
    /* A thread that suspends itself never runs again. */
    if (t->files.port == 0 || stack == NULL || hd_thread_id_equal(t->thread, hd_thread_id_self())) {
        return -EBUSY;
    }
    if (!take_turn()) {
        return -EAGAIN;
    }
    int rc = copy_suspended(t, stack, &registers, out);
    atomic_store(&suspending_pid, 0);
    if (rc != 0) {
        return rc == -ESRCH ? rc : -EBUSY;
    }
    hd_registers_store(&out->regs, &registers);
    out->way = HD_WAY_SUSPENDED;
    out->stack = stack;
    see_state(t, &registers, out);
    return 0;
}

/* ---- for capture.c ----------------------------------------------------------------------------- */

int hd_method_read_in_place(struct hd_target *t, struct hd_capture *out) {
    int rc = hd_method_begin_attempt(t, out);
    return rc == 0 ? hd_method_suspended(t, out) : rc;
}

int hd_method_signalled_late(struct hd_target *t, struct hd_capture *out) {
    (void)t;
    (void)out;
    return -EAGAIN;
}
