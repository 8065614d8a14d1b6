/* SPDX-License-Identifier: MIT
 *
 * `syscall` on arm64, where all arguments are in registers.
 */
#include <stddef.h>
#include <sys/syscall.h>

#include "preload/interpose/real.h"
#include "preload/interpose/syscall.h"

long by_number(long n, long a, long b, long c, long d, long e, long f) __asm__("syscall");

__attribute__((visibility("default"))) long by_number(long n, long a, long b, long c, long d, long e,
                                                      long f) {
    switch (n) {
    case SYS_prctl:
    case SYS_capset:
    case SYS_setuid:
    case SYS_setgid:
    case SYS_setreuid:
    case SYS_setregid:
    case SYS_setgroups:
    case SYS_setresuid:
    case SYS_setresgid:
    case SYS_chroot:
    case SYS_pivot_root:
    case SYS_unshare:
    case SYS_setns:
    case SYS_seccomp:
    case SYS_keyctl:
    case HD_LANDLOCK_RESTRICT_SELF:
        return hd_syscall_wrapped(n, a, b, c, d, e);
    default:
        break;
    }
    if (hd_real_syscall == NULL) {
        hd_interpose_resolve_process();
    }
    return hd_real_syscall(n, a, b, c, d, e, f);
}
