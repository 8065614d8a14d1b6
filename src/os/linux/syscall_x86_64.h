/* SPDX-License-Identifier: MIT
 *
 * x86-64 Linux: the system call instruction. The names of the vDSO's clock function and of the counter's
 * clock source are here too, since they differ between architectures. Any thread; async-signal-safe.
 */
#ifndef HD_SYSCALL_X86_64_H
#define HD_SYSCALL_X86_64_H

#define HD_VDSO_CLOCK "__vdso_clock_gettime"
#define HD_TICKS_CLOCKSOURCE "tsc"

/* Makes a system call. Returns the kernel's result, in which -4095 to -1 is a negative errno value. */
__attribute__((always_inline)) static inline long hd_syscall6(long nr, long a, long b, long c, long d, long e,
                                                              long f) {
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

#endif
