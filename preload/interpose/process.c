/* SPDX-License-Identifier: MIT
 *
 * Interposed functions by which a program changes what its threads may do: filters of system calls,
 * namespaces. Any thread, also in a forked child: they pass on what they were given, errno included.
 */
#include <errno.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "os/os.h"
#include "preload/attach/attach.h"
#include "preload/interpose/real.h"
#include "preload/interpose/syscall.h"

#define EXPORT __attribute__((visibility("default")))

long (*hd_real_syscall)(long, long, long, long, long, long, long);

static int (*real_prctl)(int, unsigned long, unsigned long, unsigned long, unsigned long);

void hd_interpose_resolve_process(void) {
    hd_real_syscall = (__typeof__(hd_real_syscall))hd_interpose_look_up("syscall");
    real_prctl = (__typeof__(real_prctl))hd_interpose_look_up("prctl");
}

#define REAL_PRCTL (hd_real_syscall != NULL ? (void)0 : hd_interpose_resolve_process(), real_prctl)
#define REAL_SYSCALL (hd_real_syscall != NULL ? (void)0 : hd_interpose_resolve_process(), hd_real_syscall)

/* ---- filters ----------------------------------------------------------------------------------- */

/* Libraries ask what the kernel can with an address that is none: such a call installs nothing. */
static bool installs(unsigned long mode, const void *filter) {
    return mode == SECCOMP_MODE_STRICT || (mode == SECCOMP_MODE_FILTER && filter != NULL);
}

static bool by_prctl(unsigned long option, unsigned long mode, const void *filter) {
    return option == PR_SET_SECCOMP && installs(mode, filter);
}

static bool by_seccomp(unsigned long operation, const void *filter) {
    return installs(operation == SECCOMP_SET_MODE_STRICT   ? SECCOMP_MODE_STRICT
                    : operation == SECCOMP_SET_MODE_FILTER ? SECCOMP_MODE_FILTER
                                                           : SECCOMP_MODE_DISABLED,
                    filter);
}

EXPORT int prctl(int option, ...) {
    unsigned long a[4];
    va_list list;
    va_start(list, option);
    for (unsigned i = 0; i < 4; i++) {
        a[i] = va_arg(list, unsigned long);
    }
    va_end(list);
    if (by_prctl((unsigned)option, a[0], (const void *)a[1])) { // NOLINT(performance-no-int-to-ptr)
        hd_attach_before_filter();
    }
    return REAL_PRCTL(option, a[0], a[1], a[2], a[3]);
}

extern __typeof__(prctl) hd_own_prctl __attribute__((alias("prctl"), leaf, nothrow));

/* ---- namespaces -------------------------------------------------------------------------------- */

/* Those that a process with a second thread may not have: the flags of unshare, the kinds of setns (0: any).
 */
#define UNSHARE_SINGLE_THREADED (CLONE_NEWUSER | CLONE_THREAD | CLONE_SIGHAND | CLONE_VM)
#define SETNS_SINGLE_THREADED (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWTIME)
#define RETRIES 50

/* Ours go when the kernel says that they are in the way. One that was joined may still be counted, for an
 * instant. */
static long once_single_threaded(bool may_have_to_be, long call, long a, long b) {
    int saved = errno;
    long result = REAL_SYSCALL(call, a, b, 0, 0, 0, 0);
    int why = errno; /* EUSERS of namespaces of time */
    bool refused = may_have_to_be && result == -1 && (why == EINVAL || why == EUSERS);
    bool single_threaded = refused && hd_attach_end_threads();
    if (single_threaded) {
        hd_attach_wait_for_abandoned();
    }
    errno = result == -1 ? why : errno;
    for (unsigned i = 0; single_threaded && result == -1 && errno == why && i < RETRIES; i++) {
        hd_os_nap(HD_NS_PER_MS / 5);
        result = REAL_SYSCALL(call, a, b, 0, 0, 0, 0);
    }
    if (result != -1) {
        errno = saved; /* not that of a try before */
    }
    return result;
}

static long unshared(int flags) {
    return once_single_threaded((flags & UNSHARE_SINGLE_THREADED) != 0, SYS_unshare, flags, 0);
}

static long joined(int fd, int kind) {
    return once_single_threaded(kind == 0 || (kind & SETNS_SINGLE_THREADED) != 0, SYS_setns, fd, kind);
}

EXPORT int unshare(int flags) {
    return (int)unshared(flags);
}

EXPORT int setns(int fd, int kind) {
    return (int)joined(fd, kind);
}

/* ---- any of them by number --------------------------------------------------------------------- */

long hd_syscall_looked_at(long n, long a, long b, long c, long d, long e) {
    const void *third = (const void *)c; // NOLINT(performance-no-int-to-ptr)
    switch (n) {
    case SYS_unshare:
        return unshared((int)a);
    case SYS_setns:
        return joined((int)a, (int)b);
    case SYS_seccomp:
        if (by_seccomp((unsigned)a, third)) {
            hd_attach_before_filter();
        }
        break;
    default:
        if (by_prctl((unsigned)a, (unsigned long)b, third)) {
            hd_attach_before_filter();
        }
        break;
    }
    return REAL_SYSCALL(n, a, b, c, d, e, 0);
}
