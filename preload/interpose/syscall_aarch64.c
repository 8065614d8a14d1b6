/* SPDX-License-Identifier: MIT
 *
 * `syscall` on arm64: all its arguments are in registers.
 */
#include <stddef.h>
#include <sys/syscall.h>

#include "preload/interpose/real.h"
#include "preload/interpose/syscall.h"

long by_number(long n, long a, long b, long c, long d, long e, long f) __asm__("syscall");

__attribute__((visibility("default"))) long by_number(long n, long a, long b, long c, long d, long e,
                                                      long f) {
    if (n == SYS_seccomp || n == SYS_prctl || n == SYS_unshare || n == SYS_setns) {
        return hd_syscall_looked_at(n, a, b, c, d, e);
    }
    if (hd_real_syscall == NULL) {
        hd_interpose_resolve_process();
    }
    return hd_real_syscall(n, a, b, c, d, e, f);
}
