/* SPDX-License-Identifier: MIT
 *
 * Raw system calls, for this folder and for signal handlers. All other code calls the members of hd_os. The
 * calls are async-signal-safe, never set errno, and are no cancellation points.
 */
#ifndef HD_SYSCALL_H
#define HD_SYSCALL_H

#include <stdint.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#include "os/linux/syscall_x86_64.h"
#elif defined(__aarch64__)
#include "os/linux/syscall_aarch64.h"
#else
#error "no system call instruction known for this machine: add a header here"
#endif

#define hd_syscall0(nr) hd_syscall6(nr, 0, 0, 0, 0, 0, 0)
#define hd_syscall1(nr, a) hd_syscall6(nr, (long)(a), 0, 0, 0, 0, 0)
#define hd_syscall2(nr, a, b) hd_syscall6(nr, (long)(a), (long)(b), 0, 0, 0, 0)
#define hd_syscall3(nr, a, b, c) hd_syscall6(nr, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define hd_syscall4(nr, a, b, c, d) hd_syscall6(nr, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define hd_syscall5(nr, a, b, c, d, e) \
    hd_syscall6(nr, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)

/* The kernel's signal mask has 64 bits; libc's sigset_t may be larger. */
#define HD_KERNEL_SIGSET_BYTES 8

#endif
