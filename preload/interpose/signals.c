/* SPDX-License-Identifier: MIT
 *
 * What the program sees of its signals is what it would see without us. Our handler (of a signal whose
 * default is to be ignored) looks like that default, and our alternate stack like none; it goes as soon as
 * the program installs a handler that would run on it, and would have had the thread's whole stack before.
 * Any thread, handlers too: no allocation, no lock.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>

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

/* Whether `signal` is ours, and the program has not taken it. */
EARLY static bool is_own(int signal) {
    struct sigaction now;
    return (signal == SIGURG || signal == SIGWINCH || signal == SIGCHLD) &&
           REAL(sigaction)(signal, NULL, &now) == 0 && is_own_handler(now.sa_handler);
}

/* The monitor signals only where there is room. */
EARLY static void note_alt_stack(void) {
    struct hd_mailbox *m = hd_capture_own_mailbox();
    stack_t now;
    if (m != NULL && REAL(sigaltstack)(NULL, &now) == 0) {
        __atomic_store_n(&m->alt_bytes, (now.ss_flags & SS_DISABLE) != 0 ? 0 : now.ss_size, __ATOMIC_RELAXED);
    }
}

/* Only the thread itself can; one that another thread's handlers wait for keeps ours, and so does one under a
 * filter, which may forbid to ask. */
EARLY static void give_way(void) {
    stack_t now, none = {.ss_flags = SS_DISABLE};
    if (hd_attach_alt_stack != NULL && !hd_attach_is_filtered() && REAL(sigaltstack)(NULL, &now) == 0 &&
        now.ss_sp == hd_attach_alt_stack) {
        REAL(sigaltstack)(&none, NULL);
        note_alt_stack();
    }
}

EARLY EXPORT int sigaction(int signal, const struct sigaction *act, struct sigaction *old) {
    if (is_own(signal) && (act == NULL || act->sa_handler == SIG_DFL)) {
        if (old != NULL) {
            memset(old, 0, sizeof *old); /* SIG_DFL is zero, as all of it was */
        }
        return 0;
    }
    if (act != NULL && (act->sa_flags & SA_ONSTACK) != 0 && act->sa_handler != SIG_DFL &&
        act->sa_handler != SIG_IGN) {
        int saved = errno;
        give_way();
        errno = saved;
    }
    int rc = REAL(sigaction)(signal, act, old);
    if (rc == 0 && old != NULL && is_own_handler(old->sa_handler)) {
        memset(old, 0, sizeof *old);
    }
    return rc;
}

/* By ours: a program with a sigaction of its own (Erlang's) calls this one from there. */
extern __typeof__(sigaction) own_sigaction
    __attribute__((alias("sigaction"), visibility("hidden"), leaf, nothrow));

EXPORT int __sigaction(int signal, const struct sigaction *act, struct sigaction *old);
EARLY EXPORT int __sigaction(int signal, const struct sigaction *act, struct sigaction *old) {
    return own_sigaction(signal, act, old);
}

EARLY EXPORT int sigaltstack(const stack_t *stack, stack_t *old) {
    int rc = REAL(sigaltstack)(stack, old);
    if (rc == 0 && stack != NULL) {
        note_alt_stack();
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
