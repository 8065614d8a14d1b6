/* SPDX-License-Identifier: MIT
 *
 * thread_suspend by a signal that Apple's systems do not have: its handler stores the registers and waits. A
 * thread in a fake shows the stub of a system library, as gate.h says. A thread on its way into a fake or out
 * of it cannot be shown: its handler returns, and the suspender sends the signal again.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "clocks.h"
#include "images.h"
#include "mach.h"
#include "thread.h"

#define SIGNAL SIGSTKFLT

static void registers_of_context(struct thread_registers *r, const ucontext_t *c) {
#if defined(__x86_64__)
    static const int order[16] = {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RDI, REG_RSI, REG_RBP, REG_RSP,
                                  REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    for (int i = 0; i < 16; i++) {
        r->general[i] = (uint64_t)c->uc_mcontext.gregs[order[i]];
    }
    r->pc = (uint64_t)c->uc_mcontext.gregs[REG_RIP];
    r->sp = (uint64_t)c->uc_mcontext.gregs[REG_RSP];
    r->flags = (uint64_t)c->uc_mcontext.gregs[REG_EFL];
#else
    memcpy(r->general, c->uc_mcontext.regs, sizeof r->general);
    r->pc = c->uc_mcontext.pc;
    r->sp = c->uc_mcontext.sp;
    r->flags = c->uc_mcontext.pstate;
#endif
}

static void registers_of_gate(struct thread_registers *r, const struct gate_registers *g) {
    memcpy(r->general, g->general, sizeof r->general);
#if defined(__x86_64__)
    r->sp = g->general[7];
#else
    r->sp = g->general[31];
#endif
    r->pc = g->pc;
    r->flags = 0;
}

/* False: the thread is between its code and a fake. */
static bool registers_read(struct thread *t, const ucontext_t *c) {
    registers_of_context(&t->registers, c);
    if (images_has_code(t->registers.pc)) {
        return true;
    }
    int depth = t->depth;
    if (t->in_kernel || depth == 0 || depth > THREAD_DEPTH) {
        return false;
    }
    registers_of_gate(&t->registers, t->frames[depth - 1]);
    return true;
}

static void on_signal(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)info;
    struct thread *t = thread_self;
    int error = errno;
    uint32_t request = t ? t->stop_requested : 0;
    if (request && registers_read(t, context)) {
        t->stopped = request;
        futex_wake(&t->stopped, 1000);
        while (t->stop_requested == request) {
            futex_wait(&t->stop_requested, request, NULL);
        }
    }
    errno = error;
}

void thread_suspend_install(void) {
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigfillset(&action.sa_mask);
    sigaction(SIGNAL, &action, NULL);
}

/* Each suspension has a number, so that a late signal of an earlier one does no harm. */
static int stop(struct thread *t) {
    static _Atomic uint32_t last;
    uint32_t request = ++last;
    t->stop_requested = request;
    if (t->blocked && t->depth > 0 && t->depth <= THREAD_DEPTH) {
        /* A blocked thread cannot leave its wait (thread_unblock), so no signal is needed. */
        registers_of_gate(&t->registers, t->frames[t->depth - 1]);
        return KERN_SUCCESS;
    }
    while (t->stopped != request) {
        if (t->life == THREAD_ENDED || syscall(SYS_tgkill, getpid(), t->tid, SIGNAL) != 0) {
            t->stop_requested = 0;
            return KERN_TERMINATED;
        }
        struct timespec until = clocks_after(300000);
        uint32_t seen = t->stopped;
        if (seen != request) {
            futex_wait(&t->stopped, seen, &until);
        }
    }
    return KERN_SUCCESS;
}

static void go_on(struct thread *t) {
    if (!t->blocked) {
        t->runs_since += clocks_uptime_ns() - t->suspended_at;
    }
    t->stop_requested = 0;
    futex_wake(&t->stop_requested, 1000);
}

static void lock(struct thread *t) {
    kernel_enter();
    while (atomic_exchange(&t->suspend_lock, 1)) {
        sched_yield();
    }
}

static void unlock(struct thread *t) {
    t->suspend_lock = 0;
    kernel_leave();
}

int thread_suspend(struct thread *t) {
    if (t == thread_self) {
        return KERN_FAILURE; /* no test needs it */
    }
    lock(t);
    int result = t->life == THREAD_ENDED ? KERN_TERMINATED : KERN_SUCCESS;
    if (result == KERN_SUCCESS && t->suspend_count == 0) {
        while (t->life == THREAD_STARTS) {
            sched_yield();
        }
        result = stop(t);
        t->suspended_at = clocks_uptime_ns();
    }
    if (result == KERN_SUCCESS) {
        t->suspend_count++;
    }
    unlock(t);
    return result;
}

int thread_resume(struct thread *t) {
    lock(t);
    int result = t->suspend_count > 0 ? KERN_SUCCESS : KERN_FAILURE;
    if (result == KERN_SUCCESS && --t->suspend_count == 0) {
        go_on(t);
    }
    unlock(t);
    return result;
}
