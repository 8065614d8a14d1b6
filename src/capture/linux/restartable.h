/* SPDX-License-Identifier: MIT
 *
 * How a signal affects each system call. After -EINTR a thread may repeat a call only if the call has done
 * nothing yet. Two calls cannot be repeated: close, whose descriptor is gone, and connect, which the kernel
 * still completes. Async-signal-safe.
 */
#ifndef HD_RESTARTABLE_H
#define HD_RESTARTABLE_H

#include <linux/futex.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#ifndef FUTEX_LOCK_PI2
#define FUTEX_LOCK_PI2 13
#endif

static inline bool hd_restartable(long nr) {
    switch (nr) {
#ifdef SYS_poll
    case SYS_poll:
#endif
#ifdef SYS_select
    case SYS_select:
#endif
#ifdef SYS_epoll_wait
    case SYS_epoll_wait:
#endif
#ifdef SYS_pause
    case SYS_pause:
#endif
#ifdef SYS_epoll_pwait2
    case SYS_epoll_pwait2:
#endif
#ifdef SYS_futex_waitv
    case SYS_futex_waitv:
#endif
#ifdef SYS_io_pgetevents
    case SYS_io_pgetevents:
#endif
    case SYS_ppoll:
    case SYS_pselect6:
    case SYS_epoll_pwait:
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
    case SYS_futex:
    case SYS_read:
    case SYS_readv:
    case SYS_pread64:
    case SYS_preadv:
    case SYS_write:
    case SYS_writev:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_recvmmsg:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_sendmmsg:
    case SYS_accept:
    case SYS_accept4:
    case SYS_wait4:
    case SYS_waitid:
    case SYS_flock:
    case SYS_fcntl:
    case SYS_semop:
    case SYS_semtimedop:
    case SYS_msgrcv:
    case SYS_msgsnd:
    case SYS_mq_timedreceive:
    case SYS_mq_timedsend:
    case SYS_rt_sigsuspend:
    case SYS_rt_sigtimedwait:
    case SYS_io_getevents:
    case SYS_getrandom:
        return true;
    default:
        return false;
    }
}

/* Returns true for the futex calls of mutexes with priority inheritance. The kernel repeats these calls,
 * whatever flags a handler has. They must not end with -EINTR, because libc would take -EINTR for success. */
static inline bool hd_always_restarted(long nr, uint64_t futex_operation) {
    unsigned operation = (unsigned)futex_operation & (unsigned)FUTEX_CMD_MASK;
    return nr == SYS_futex &&
           (operation == FUTEX_LOCK_PI || operation == FUTEX_LOCK_PI2 || operation == FUTEX_WAIT_REQUEUE_PI);
}

/* A call that transferred this many bytes or fewer does not count as cut short by our signal. Such a call was
 * brief, and may be short for another reason: a pipe has no more bytes, for example. */
#define HD_SHORT_BYTES 65536

/* Returns the index of the argument with the number of bytes to transfer, if a signal may cut the call short.
 * Returns 0 for all other calls. `fourth` is the call's fourth argument. */
static inline unsigned hd_bytes_argument(long nr, uint64_t fourth) {
    switch (nr) {
    case SYS_getrandom:
        return 1;
    case SYS_recvfrom:
        return (fourth & MSG_WAITALL) != 0 ? 2 : 0;
    case SYS_read:
    case SYS_pread64:
    case SYS_write:
    case SYS_pwrite64:
    case SYS_sendto:
        return 2;
    case SYS_sendfile:
        return 3;
    case SYS_splice:
    case SYS_copy_file_range:
        return 4;
    default:
        return 0;
    }
}

#endif
