/* SPDX-License-Identifier: MIT
 *
 * arm64 Linux: the system call instruction. The names of the vDSO's clock function and of the counter's clock
 * source are here too, since they differ between architectures. Any thread; async-signal-safe.
 */
#ifndef HD_SYSCALL_AARCH64_H
#define HD_SYSCALL_AARCH64_H

#define HD_VDSO_CLOCK "__kernel_clock_gettime"
#define HD_TICKS_CLOCKSOURCE "arch_sys_counter"

/* Makes a system call. Returns the kernel's result, in which -4095 to -1 is a negative errno value. */
__attribute__((always_inline)) static inline long hd_syscall6(long nr, long a, long b, long c, long d, long e,
                                                              long f) {
    register long x8 __asm__("x8") = nr;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc #0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory", "cc");
    return x0;
}

#endif
