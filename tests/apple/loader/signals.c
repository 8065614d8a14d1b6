/* SPDX-License-Identifier: MIT
 *
 * Signals: numbers, actions, alternate stacks, masks, and the context that a handler gets.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "errors.h"
#include "exceptions.h"
#include "gate.h"
#include "images.h"
#include "import.h"
#include "thread.h"

/* The index is Darwin's number. */
static const int host_of[32] = {
    0,       SIGHUP,  SIGINT,  SIGQUIT, SIGILL,    SIGTRAP, SIGABRT,  0 /* EMT */,  SIGFPE,  SIGKILL, SIGBUS,
    SIGSEGV, SIGSYS,  SIGPIPE, SIGALRM, SIGTERM,   SIGURG,  SIGSTOP,  SIGTSTP,      SIGCONT, SIGCHLD, SIGTTIN,
    SIGTTOU, SIGPOLL, SIGXCPU, SIGXFSZ, SIGVTALRM, SIGPROF, SIGWINCH, 0 /* INFO */, SIGUSR1, SIGUSR2,
};

static int darwin_of(int host) {
    for (int i = 1; i < 32; i++) {
        if (host_of[i] == host) {
            return i;
        }
    }
    return 0;
}

struct action {
    uint64_t handler;
    uint32_t mask;
    int32_t flags;
};
static struct action actions[32];

#define DARWIN_SIGINFO 0x40

struct stack {
    uint64_t sp, bytes;
    int32_t flags;
};

struct info {
    int32_t number, error, code, pid, uid, status;
    uint64_t address, value;
    int64_t band;
    uint64_t padding[7];
};
_Static_assert(sizeof(struct info) == 104, "siginfo_t");

struct mcontext {
#if defined(__x86_64__)
    uint16_t trap, cpu;
    uint32_t error;
    uint64_t fault_address;
    uint64_t thread[21];
    uint8_t floats[528];
#else
    uint64_t fault_address;
    uint32_t syndrome, exception;
    uint64_t thread[33];
    uint32_t flags, padding;
    uint8_t neon[528];
#endif
};

struct context {
    int32_t on_stack;
    uint32_t mask;
    struct stack stack;
    uint64_t link, mcontext_bytes;
    struct mcontext *mcontext;
};
_Static_assert(sizeof(struct context) == 56, "ucontext_t");

static uint32_t set_to_darwin(const sigset_t *set) {
    uint32_t out = 0;
    for (int i = 1; i < 32; i++) {
        if (host_of[i] && sigismember(set, host_of[i]) == 1) {
            out |= 1u << (i - 1);
        }
    }
    return out;
}

static void set_to_host(uint32_t darwin, sigset_t *set) {
    sigemptyset(set);
    for (int i = 1; i < 32; i++) {
        if (host_of[i] && darwin & 1u << (i - 1)) {
            sigaddset(set, host_of[i]);
        }
    }
}

static void mcontext_fill(struct mcontext *m, const ucontext_t *c, const siginfo_t *info) {
    memset(m, 0, sizeof *m);
#if defined(__x86_64__)
    static const int order[18] = {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RDI, REG_RSI,
                                  REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                  REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP, REG_EFL};
    for (int i = 0; i < 18; i++) {
        m->thread[i] = (uint64_t)c->uc_mcontext.gregs[order[i]];
    }
    m->trap = (uint16_t)c->uc_mcontext.gregs[REG_TRAPNO];
    m->error = (uint32_t)c->uc_mcontext.gregs[REG_ERR];
#else
    memcpy(m->thread, c->uc_mcontext.regs, 31 * 8);
    m->thread[31] = c->uc_mcontext.sp;
    m->thread[32] = c->uc_mcontext.pc;
    m->flags = (uint32_t)c->uc_mcontext.pstate;
#endif
    m->fault_address = (uint64_t)info->si_addr;
}

/* Applies the registers that the handler changed. */
static void mcontext_back(const struct mcontext *m, ucontext_t *c) {
#if defined(__x86_64__)
    c->uc_mcontext.gregs[REG_RIP] = (long long)m->thread[16];
    c->uc_mcontext.gregs[REG_RSP] = (long long)m->thread[7];
#else
    c->uc_mcontext.sp = m->thread[31];
    c->uc_mcontext.pc = m->thread[32];
#endif
}

/* In a fake, the context shows the stub of a system library. */
static void show_stub(struct mcontext *m) {
    const struct thread *t = thread_self;
    if (t->depth == 0 || t->depth > THREAD_DEPTH) {
        return;
    }
    const struct gate_registers *g = t->frames[t->depth - 1];
#if defined(__x86_64__)
    memcpy(m->thread, g->general, 16 * 8);
    m->thread[16] = g->pc;
#else
    memcpy(m->thread, g->general, 32 * 8);
    m->thread[32] = g->pc;
#endif
}

/* The registers in the gate's order. */
static void registers_at(struct gate_registers *at, const struct mcontext *m) {
    memset(at, 0, sizeof *at);
#if defined(__x86_64__)
    memcpy(at->general, m->thread, 16 * 8);
    at->pc = m->thread[16];
#else
    memcpy(at->general, m->thread, 32 * 8);
    at->pc = m->thread[32];
#endif
}

static void on_signal(int host, siginfo_t *info, void *context) {
    int number = darwin_of(host), error = errno;
    const struct action a = actions[number];
    ucontext_t *c = context;
    struct mcontext m;
    mcontext_fill(&m, c, info);
#if defined(__x86_64__)
    bool shown = !images_has_code(m.thread[16]);
#else
    bool shown = !images_has_code(m.thread[32]);
#endif
    if (shown) {
        show_stub(&m);
    }
    bool from_code = info->si_code > 0;
    struct gate_registers at;
    registers_at(&at, &m);
    if (from_code && !shown && exceptions_raise(number, info->si_code, m.fault_address, &at)) {
        errno = error;
        return;
    }
    struct info i = {.number = number,
                     .code = from_code ? info->si_code : 0x10001,
                     .pid = from_code ? 0 : info->si_pid,
                     .address = from_code ? (uint64_t)info->si_addr : 0};
    struct context u = {.mask = set_to_darwin(&c->uc_sigmask),
                        .stack = {(uint64_t)c->uc_stack.ss_sp, c->uc_stack.ss_size, c->uc_stack.ss_flags},
                        .mcontext_bytes = sizeof m,
                        .mcontext = &m};
    gate_call_darwin(a.handler, (uint64_t)number, (uint64_t)&i, (uint64_t)&u, images_symbol("__sigtramp"));
    if (!shown) {
        mcontext_back(&m, c);
    }
    errno = error;
}

static int fake_sigaction(int number, const struct action *new_action, struct action *old) {
    if (number < 1 || number > 31 || number == 9 || number == 17 || !host_of[number]) {
        return errors_fail(EINVAL);
    }
    struct action before = actions[number];
    if (new_action) {
        struct sigaction host = {.sa_flags = SA_SIGINFO};
        actions[number] = *new_action;
        set_to_host(new_action->mask, &host.sa_mask);
        static const int flags[] = {SA_ONSTACK,   SA_RESTART, SA_RESETHAND,
                                    SA_NOCLDSTOP, SA_NODEFER, SA_NOCLDWAIT};
        for (int i = 0; i < 6; i++) {
            host.sa_flags |= new_action->flags & 1 << i ? flags[i] : 0;
        }
        host.sa_sigaction = on_signal;
        if (new_action->handler <= 1) {
            host.sa_flags &= ~SA_SIGINFO;
            host.sa_handler = new_action->handler ? SIG_IGN : SIG_DFL;
        }
        if (sigaction(host_of[number], &host, NULL) != 0) {
            return errors_fail(errno);
        }
    }
    if (old) {
        *old = before;
    }
    return 0;
}

static uint64_t fake_signal(int number, uint64_t handler) {
    struct action a = {handler, 0, 2}, old;
    return fake_sigaction(number, &a, &old) == 0 ? old.handler : UINT64_MAX;
}

static int fake_sigaltstack(const struct stack *new_stack, struct stack *old) {
    stack_t host, before;
    if (new_stack) {
        host = (stack_t){.ss_sp = (void *)new_stack->sp,
                         .ss_size = new_stack->bytes,
                         .ss_flags = new_stack->flags & 4 ? SS_DISABLE : 0};
        if (!(new_stack->flags & 4) && new_stack->bytes < 32768) {
            return errors_fail(ENOMEM); /* Darwin's MINSIGSTKSZ */
        }
    }
    if (sigaltstack(new_stack ? &host : NULL, &before) != 0) {
        return errors_fail(errno);
    }
    if (old) {
        int flags = (before.ss_flags & SS_DISABLE ? 4 : 0) | (before.ss_flags & SS_ONSTACK ? 1 : 0);
        *old = (struct stack){(uint64_t)before.ss_sp, before.ss_size, flags};
    }
    return 0;
}

static int mask(int how, const uint32_t *set, uint32_t *old) {
    static const int host_how[4] = {-1, SIG_BLOCK, SIG_UNBLOCK, SIG_SETMASK};
    sigset_t host, before;
    if (set && (how < 1 || how > 3)) {
        return EINVAL;
    }
    if (set) {
        set_to_host(*set, &host);
    }
    int error = pthread_sigmask(set ? host_how[how] : SIG_BLOCK, set ? &host : NULL, &before);
    if (old) {
        *old = set_to_darwin(&before);
    }
    return error;
}

static int fake_pthread_sigmask(int how, const uint32_t *set, uint32_t *old) {
    return errors_darwin(mask(how, set, old));
}

static int fake_sigprocmask(int how, const uint32_t *set, uint32_t *old) {
    int error = mask(how, set, old);
    return error ? errors_fail(error) : 0;
}

int signals_send(int tid, int darwin);
int signals_send(int tid, int darwin) {
    int host = darwin > 0 && darwin < 32 ? host_of[darwin] : 0;
    return syscall(SYS_tgkill, getpid(), tid, host) == 0 ? 0 : errors_darwin(errno);
}

static int fake_raise(int darwin) {
    return signals_send(thread_self->tid, darwin);
}

static int fake_kill(int pid, int darwin) {
    return errors_of(kill(pid, darwin > 0 && darwin < 32 ? host_of[darwin] : darwin));
}

static void fake_abort(void) {
    fake_raise(6);
    signal(SIGABRT, SIG_DFL);
    fake_raise(6);
    _exit(134);
}

static int fake_sigemptyset(uint32_t *set) {
    *set = 0;
    return 0;
}
static int fake_sigfillset(uint32_t *set) {
    *set = ~0u;
    return 0;
}
static int fake_sigaddset(uint32_t *set, int number) {
    *set |= 1u << (number - 1);
    return 0;
}

const struct import imports_of_signal[] = {
    KERNEL("sigaction", fake_sigaction, 46),
    LIBRARY("signal", fake_signal),
    KERNEL("sigaltstack", fake_sigaltstack, 53),
    LIBRARY("pthread_sigmask", fake_pthread_sigmask),
    KERNEL("sigprocmask", fake_sigprocmask, 48),
    LIBRARY("raise", fake_raise),
    KERNEL("kill", fake_kill, 37),
    LIBRARY("abort", fake_abort),
    LIBRARY("sigemptyset", fake_sigemptyset),
    LIBRARY("sigfillset", fake_sigfillset),
    LIBRARY("sigaddset", fake_sigaddset),
    IMPORT_END,
};
