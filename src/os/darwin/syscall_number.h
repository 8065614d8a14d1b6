/* SPDX-License-Identifier: MIT
 *
 * Numbers of Darwin's calls, in the form that register x16 of arm64 has them: BSD's calls are positive, traps
 * of Mach negative. Source: XNU's master list of calls and its table of traps. Pure.
 */
#ifndef HD_OS_DARWIN_SYSCALL_NUMBER_H
#define HD_OS_DARWIN_SYSCALL_NUMBER_H

#include <stdint.h>

enum hd_darwin_call {
    HD_DARWIN_MACH_MSG = -31,
    HD_DARWIN_MACH_MSG_OVERWRITE = -32,
    HD_DARWIN_SEMAPHORE_WAIT = -36,
    HD_DARWIN_SEMAPHORE_WAIT_SIGNAL = -37,
    HD_DARWIN_SEMAPHORE_TIMEDWAIT = -38,
    HD_DARWIN_SEMAPHORE_TIMEDWAIT_SIGNAL = -39,
    HD_DARWIN_MACH_MSG2 = -47,
    HD_DARWIN_WAIT4 = 7,
    HD_DARWIN_FCNTL = 92,
    HD_DARWIN_FLOCK = 131,
    HD_DARWIN_WAITID = 173,
    HD_DARWIN_SEM_WAIT = 271,
    HD_DARWIN_PSYNCH_MUTEXWAIT = 301,
    HD_DARWIN_PSYNCH_CVWAIT = 305,
    HD_DARWIN_PSYNCH_RW_RDLOCK = 306,
    HD_DARWIN_PSYNCH_RW_WRLOCK = 307,
    HD_DARWIN_KEVENT_ID = 375,
    HD_DARWIN_WAIT4_NOCANCEL = 400,
    HD_DARWIN_FCNTL_NOCANCEL = 406,
    HD_DARWIN_WAITID_NOCANCEL = 416,
    HD_DARWIN_SEM_WAIT_NOCANCEL = 420,
    HD_DARWIN_ULOCK_WAIT = 515,
    HD_DARWIN_ULOCK_WAIT2 = 544,
    /* No number of the kernel: an fcntl that waits for a file's disk, such as F_FULLFSYNC, and for no lock.
     */
    HD_DARWIN_FCNTL_DISK = 10092,
};

/* Returns the number of the call that the function `stub` of libsystem_kernel makes, such as
 * "__read_nocancel" or "mach_msg2_trap". HD_SYSCALL_NONE: the function is not in the table. */
int32_t hd_syscall_of_stub(const char *stub);

/* Returns the number of a call without cancellation as the number of the same call with it. Other numbers
 * stay. */
int32_t hd_syscall_cancellable(int32_t nr);

#endif
