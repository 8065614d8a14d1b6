/* SPDX-License-Identifier: MIT */
#include "cli/live/stopped.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capture/capture.h"
#include "os/os.h"

#define STOP_NS (100 * HD_NS_PER_MS) /* longest wait for a thread that is in the kernel */
#define BELOW 128                    /* bytes that a leaf function may use */

static void wake(int signal) {
    (void)signal;
}

/* By their DWARF numbers. */
static void take_registers(struct hd_regs *to, const struct user_regs_struct *from) {
#if defined(__x86_64__)
    const unsigned long long by_number[] = {from->rax, from->rdx, from->rcx, from->rbx, from->rsi, from->rdi,
                                            from->rbp, from->rsp, from->r8,  from->r9,  from->r10, from->r11,
                                            from->r12, from->r13, from->r14, from->r15};
    to->pc = from->rip;
    to->sp = from->rsp;
#elif defined(__aarch64__)
    const unsigned long long *by_number = from->regs; /* x0 to x30 */
    to->pc = from->pc;
    to->sp = from->sp;
#endif
#if defined(__x86_64__)
    const unsigned count = 16;
#else
    const unsigned count = 31;
#endif
    for (unsigned i = 0; i < count; i++) {
        to->r[i] = by_number[i];
        to->valid |= UINT64_C(1) << i;
    }
}

/* Sends a repeated signal to this thread only. A repeated signal ends the wait even if the wait starts after
 * the first signal. */
static bool start_alarm(timer_t *timer) {
    struct sigaction action = {.sa_handler = wake};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGALRM};
    struct itimerspec often = {.it_interval = {.tv_nsec = STOP_NS}, .it_value = {.tv_nsec = STOP_NS}};
    event._sigev_un._tid = gettid();
    return sigaction(SIGALRM, &action, NULL) == 0 && timer_create(CLOCK_MONOTONIC, &event, timer) == 0 &&
           timer_settime(*timer, 0, &often, NULL) == 0;
}

/* Returns the signal to deliver when the thread continues; or -ESRCH, -ETIMEDOUT. Sleeps in the wait: a busy
 * wait would take the CPU that the thread needs to stop. */
static int wait_for_stop(int tid) {
    timer_t timer;
    int status = 0;
    if (!start_alarm(&timer)) {
        return -errno;
    }
    pid_t got = waitpid(tid, &status, __WALL);
    int error =
        got < 0 && errno == EINTR ? -ETIMEDOUT : -ESRCH; /* the kernel lets it go when this process ends */
    timer_delete(timer);
    if (got != tid || !WIFSTOPPED(status)) {
        return error;
    }
    return status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status);
}

static void copy_stack(int pid, uint8_t *stack, uint32_t room, struct hd_capture *c) {
    uint64_t from = c->regs.sp - BELOW;
    long got = hd_os.read_memory(pid, from, stack, room);
    if (got <= 0) {
        from = c->regs.sp;
        got = hd_os.read_memory(pid, from, stack, room);
    }
    c->stack = stack;
    c->stack_addr = from;
    c->stack_bytes = got > 0 ? (uint32_t)got : 0;
    c->truncated = got == (long)room;
}

static int capture_seized(int pid, int tid, uint8_t *stack, uint32_t room, struct hd_capture *c,
                          uint64_t *pause_ns) {
    struct user_regs_struct registers;
    struct iovec place = {.iov_base = &registers, .iov_len = sizeof registers};
    int error = 0;
    uint64_t begin_ns = hd_os_now_ns();
    ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
    int signal = wait_for_stop(tid);
    if (signal < 0) {
        return signal;
    }
    if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &place) == 0) {
        take_registers(&c->regs, &registers);
        copy_stack(pid, stack, room, c);
    } else {
        error = -errno;
    }
    ptrace(PTRACE_DETACH, tid, NULL, (void *)(intptr_t)signal);
    *pause_ns = hd_os_now_ns() - begin_ns;
    return error;
}

int stopped_capture(int pid, int tid, uint8_t *stack, uint32_t room, struct hd_capture *c,
                    uint64_t *pause_ns) {
    timer_t timer;
    *c = (struct hd_capture){.at_ns = hd_os_now_ns(),
                             .syscall_nr = HD_SYSCALL_NONE,
                             .way = HD_WAY_SUSPENDED,
                             .state = HD_RUN_RUNNING};
    *pause_ns = 0;
    if (!start_alarm(&timer)) {
        return -errno;
    }
    int rc = ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0 ? -errno
                                                        : capture_seized(pid, tid, stack, room, c, pause_ns);
    timer_delete(timer);
    return rc;
}
