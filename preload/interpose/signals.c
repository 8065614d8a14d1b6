/* SPDX-License-Identifier: MIT
 * Hides our signal handler and our alternate stack from the program. The handler's signal is one that is
 * ignored by default, and looks like that to the program. Our alternate stack is removed once the program
 * installs a handler with SA_ONSTACK: without Hangdog that handler would run on the whole stack of the
 * thread. Any thread; async-signal-safe.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "capture/linux/signal_handler.h"
#include "capture/mailbox.h"
#include "preload/attach/attach_state.h"
#include "preload/interpose/real.h"

#define EXPORT __attribute__((visibility("default")))

typedef void (*handler)(int);

static struct {
    int (*sigaction)(int, const struct sigaction *, struct sigaction *);
    int (*sigaltstack)(const stack_t *, stack_t *);
    handler (*signal)(int, handler);
    handler (*sysv_signal)(int, handler);
} real;

EARLY void hd_interpose_resolve_signals(void) {
    _Static_assert(sizeof real == 4 * sizeof(void *), "a name for each");
    hd_interpose_look_up_all(&real, "sigaction\0sigaltstack\0signal\0__sysv_signal\0");
}

#define REAL(member) (real.member != NULL ? (void)0 : hd_interpose_resolve_signals(), real.member)

EARLY static bool is_own_handler(handler h) {
    return h == (handler)(uintptr_t)hd_capture_on_signal;
}

/* True: our handler is installed for `signal`, and not one of the program. */
EARLY static bool is_own(int signal) {
    struct sigaction now;
    return (signal == SIGURG || signal == SIGWINCH || signal == SIGCHLD) &&
           REAL(sigaction)(signal, NULL, &now) == 0 && is_own_handler(now.sa_handler);
}

/* Stores the size of the alternate stack: the monitor signals only if a frame fits. */
EARLY static void store_alt_stack(void) {
    struct hd_mailbox *m = hd_capture_own_mailbox();
    stack_t now;
    if (m != NULL && REAL(sigaltstack)(NULL, &now) == 0) {
        __atomic_store_n(&m->alt_bytes, (now.ss_flags & SS_DISABLE) != 0 ? 0 : now.ss_size, __ATOMIC_RELAXED);
    }
}

/* Works for the calling thread only: another thread keeps our alternate stack. So does a thread under a
 * seccomp filter, which may forbid the call. */
EARLY static void remove_alt_stack(void) {
    stack_t now, none = {.ss_flags = SS_DISABLE};
    if (hd_attach_alt_stack != NULL && !hd_attach_is_filtered() && REAL(sigaltstack)(NULL, &now) == 0 &&
        now.ss_sp == hd_attach_alt_stack) {
        REAL(sigaltstack)(&none, NULL);
        store_alt_stack();
    }
}

EARLY EXPORT int sigaction(int signal, const struct sigaction *act, struct sigaction *old) {
    if (is_own(signal) && (act == NULL || act->sa_handler == SIG_DFL)) {
        if (old != NULL) {
            memset(old, 0, sizeof *old); /* the former action, SIG_DFL without flags, is all zeros */
        }
        return 0;
    }
    if (act != NULL && (act->sa_flags & SA_ONSTACK) != 0 && act->sa_handler != SIG_DFL &&
        act->sa_handler != SIG_IGN) {
        int saved = errno;
        remove_alt_stack();
        errno = saved;
    }
    int rc = REAL(sigaction)(signal, act, old);
    if (rc == 0 && old != NULL && is_own_handler(old->sa_handler)) {
        memset(old, 0, sizeof *old);
    }
    return rc;
}

/* Calls our sigaction: a program that defines its own sigaction (Erlang) calls __sigaction from there. */
extern __typeof__(sigaction) own_sigaction
    __attribute__((alias("sigaction"), visibility("hidden"), leaf, nothrow));

EXPORT int __sigaction(int signal, const struct sigaction *act, struct sigaction *old);
EARLY EXPORT int __sigaction(int signal, const struct sigaction *act, struct sigaction *old) {
    return own_sigaction(signal, act, old);
}

EARLY EXPORT int sigaltstack(const stack_t *stack, stack_t *old) {
    int rc = REAL(sigaltstack)(stack, old);
    if (rc == 0 && stack != NULL) {
        store_alt_stack();
    }
    if (rc == 0 && old != NULL && hd_attach_alt_stack != NULL && old->ss_sp == hd_attach_alt_stack) {
        *old = (stack_t){.ss_flags = SS_DISABLE};
    }
    return rc;
}

EARLY EXPORT handler signal(int signal, handler h) {
    if (h == SIG_DFL && is_own(signal)) {
        return SIG_DFL;
    }
    handler before = REAL(signal)(signal, h);
    return is_own_handler(before) ? SIG_DFL : before;
}

EXPORT handler __sysv_signal(int signal, handler h);
EARLY EXPORT handler __sysv_signal(int signal, handler h) {
    if (h == SIG_DFL && is_own(signal)) {
        return SIG_DFL;
    }
    handler before = REAL(sysv_signal)(signal, h);
    return is_own_handler(before) ? SIG_DFL : before;
}
