/* SPDX-License-Identifier: MIT
 * Interposed functions by which a program changes the rights of a thread: seccomp filters, namespaces,
 * capabilities, Landlock. Any thread, also in a forked child. Arguments, results and errno are those of the
 * real function.
 */
#include <errno.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "os/os.h"
#include "preload/attach/abandoned.h"
#include "preload/attach/attach_state.h"
#include "preload/attach/attach_stop.h"
#include "preload/attach/credentials.h"
#include "preload/interpose/real.h"
#include "preload/interpose/syscall.h"

#define EXPORT __attribute__((visibility("default")))

long (*hd_real_syscall)(long, long, long, long, long, long, long);

static int (*real_prctl)(int, unsigned long, unsigned long, unsigned long, unsigned long);
static int (*real_capset)(void *, const void *);

void hd_interpose_resolve_process(void) {
    real_capset = (__typeof__(real_capset))hd_interpose_look_up("capset");
    real_prctl = (__typeof__(real_prctl))hd_interpose_look_up("prctl");
    void *last = hd_interpose_look_up("syscall"); /* stored last: shows other threads that all are resolved */
    __atomic_store_n(&hd_real_syscall, (__typeof__(hd_real_syscall))last, __ATOMIC_RELEASE);
}

#define REAL_PRCTL (hd_real_syscall != NULL ? (void)0 : hd_interpose_resolve_process(), real_prctl)
#define REAL_CAPSET (hd_real_syscall != NULL ? (void)0 : hd_interpose_resolve_process(), real_capset)
#define REAL_SYSCALL (hd_real_syscall != NULL ? (void)0 : hd_interpose_resolve_process(), hd_real_syscall)

/* ---- filters ----------------------------------------------------------------------------------- */

/* False for a NULL filter: libraries use such a call to find out what the kernel supports, and it installs
 * nothing. */
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

/* ---- rights ------------------------------------------------------------------------------------- */

/* Called after the call: a refused one gives up no right. */
static void after_prctl(unsigned long option, unsigned long first, long result) {
    if (result != 0) {
        return;
    }
    switch (option) {
    case PR_SET_NO_NEW_PRIVS:
        hd_attach_gave_up(HD_GAVE_UP_NEW_PRIVS, 0);
        break;
    case PR_CAPBSET_DROP:
        hd_attach_gave_up(HD_GAVE_UP_BOUNDED, (unsigned)first);
        break;
    case PR_SET_SECUREBITS:
        hd_attach_gave_up(HD_GAVE_UP_SECUREBITS, 0);
        break;
    case PR_CAP_AMBIENT:
        if (first == PR_CAP_AMBIENT_LOWER || first == PR_CAP_AMBIENT_CLEAR_ALL) {
            hd_attach_gave_up(HD_GAVE_UP_AMBIENT, 0);
        }
        break;
    default:
        break;
    }
}

EXPORT int capset(cap_user_header_t header, const struct __user_cap_data_struct *data);
EXPORT int capset(cap_user_header_t header, const struct __user_cap_data_struct *data) {
    int result = REAL_CAPSET(header, data);
    if (result == 0) {
        hd_attach_gave_up(HD_GAVE_UP_CAPABILITIES, 0);
    }
    return result;
}

/* The raw calls change the ids of the calling thread only. libc's functions change all threads: see
 * set_ids.c. */
static void after_call(long n, long first) {
    switch (n) {
    case SYS_capset:
    case SYS_setuid:
    case SYS_setgid:
    case SYS_setreuid:
    case SYS_setregid:
    case SYS_setresuid:
    case SYS_setresgid:
        hd_attach_gave_up(HD_GAVE_UP_CAPABILITIES, 0);
        break;
    case SYS_setgroups:
        hd_attach_gave_up(HD_GAVE_UP_GROUPS, 0);
        break;
    case SYS_chroot:
    case SYS_pivot_root:
        hd_attach_gave_up(HD_GAVE_UP_ROOT, 0);
        break;
    case HD_LANDLOCK_RESTRICT_SELF:
        hd_attach_gave_up(HD_GAVE_UP_PLACE, 0);
        break;
    case SYS_keyctl:
        if (first == KEYCTL_JOIN_SESSION_KEYRING) {
            hd_attach_gave_up(HD_GAVE_UP_PLACE, 0);
        }
        break;
    default:
        break;
    }
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
    int result = REAL_PRCTL(option, a[0], a[1], a[2], a[3]);
    after_prctl((unsigned)option, a[0], result);
    return result;
}

extern __typeof__(prctl) hd_own_prctl __attribute__((alias("prctl"), leaf, nothrow));

/* ---- namespaces -------------------------------------------------------------------------------- */

#ifndef CLONE_NEWTIME /* glibc before 2.36 */
#define CLONE_NEWTIME 0x80
#endif
/* Namespaces that the kernel gives only to a single-threaded process: flags of unshare, kinds of setns (0:
 * any kind). */
#define UNSHARE_SINGLE_THREADED (CLONE_NEWUSER | CLONE_THREAD | CLONE_SIGHAND | CLONE_VM)
#define SETNS_SINGLE_THREADED (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWTIME)
#define RETRIES 50

/* Makes the call. If the kernel refuses because of our threads, ends them and tries again. Several tries,
 * since the kernel may still count a joined thread for an instant. */
static long once_single_threaded(bool may_have_to_be, long call, long a, long b) {
    int saved = errno;
    long result = REAL_SYSCALL(call, a, b, 0, 0, 0, 0);
    int why = errno; /* EINVAL; EUSERS for a time namespace */
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
        errno = saved; /* a refused try has changed it */
    }
    return result;
}

/* Namespaces that only the calling thread leaves, not our older threads; with CLONE_FS also the root folder.
 * New PID and time namespaces are not listed, since they apply to children only. */
#define LEAVES (CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWCGROUP | CLONE_FS)

static long left_if(bool leaves, long result) {
    if (leaves && result == 0) {
        hd_attach_gave_up(HD_GAVE_UP_PLACE, 0);
    }
    return result;
}

static long unshared(int flags) {
    return left_if((flags & LEAVES) != 0,
                   once_single_threaded((flags & UNSHARE_SINGLE_THREADED) != 0, SYS_unshare, flags, 0));
}

static long joined(int fd, int kind) {
    return left_if(
        kind == 0 || (kind & LEAVES) != 0,
        once_single_threaded(kind == 0 || (kind & SETNS_SINGLE_THREADED) != 0, SYS_setns, fd, kind));
}

EXPORT int unshare(int flags) {
    return (int)unshared(flags);
}

EXPORT int setns(int fd, int kind) {
    return (int)joined(fd, kind);
}

/* ---- raw system calls -------------------------------------------------------------------------- */

long hd_syscall_wrapped(long n, long a, long b, long c, long d, long e) {
    const void *third = (const void *)c; // NOLINT(performance-no-int-to-ptr)
    bool filters = (n == SYS_seccomp && by_seccomp((unsigned)a, third)) ||
                   (n == SYS_prctl && by_prctl((unsigned)a, (unsigned long)b, third));
    if (n == SYS_unshare || n == SYS_setns) {
        return n == SYS_unshare ? unshared((int)a) : joined((int)a, (int)b);
    }
    if (filters) {
        hd_attach_before_filter();
    }
    long result = REAL_SYSCALL(n, a, b, c, d, e, 0);
    if (n == SYS_prctl) {
        after_prctl((unsigned)a, (unsigned long)b, result);
    } else if (result >= 0) {
        after_call(n, a);
    }
    return result;
}
