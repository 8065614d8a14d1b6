/* SPDX-License-Identifier: MIT
 *
 * Reads the registers of the function that calls hd_own_regs, from which the unwinder starts. On the watched
 * thread; wait-free and async-signal-safe.
 */
#ifndef HD_CALLER_REGISTERS_H
#define HD_CALLER_REGISTERS_H

#include "base/types.h"

#if defined(__x86_64__)
/* DWARF numbers of the System V psABI: rbx 3, rbp 6, rsp 7, r12 to r15. */
static inline __attribute__((always_inline)) void hd_own_regs(struct hd_regs *regs) {
    __asm__ volatile("leaq 0(%%rip), %%rax\n\t"
                     "movq %%rax, %0\n\t"
                     "movq %%rsp, %1\n\t"
                     "movq %%rbx, %2\n\t"
                     "movq %%rbp, %3\n\t"
                     "movq %%r12, %4\n\t"
                     "movq %%r13, %5\n\t"
                     "movq %%r14, %6\n\t"
                     "movq %%r15, %7"
                     : "=m"(regs->pc), "=m"(regs->sp), "=m"(regs->r[3]), "=m"(regs->r[6]), "=m"(regs->r[12]),
                       "=m"(regs->r[13]), "=m"(regs->r[14]), "=m"(regs->r[15])
                     :
                     : "rax");
    regs->valid = 1U << 3 | 1U << 6 | 0xfU << 12;
}
#elif defined(__aarch64__)
/* DWARF numbers 19 to 30 are x19 to x30. */
static inline __attribute__((always_inline)) void hd_own_regs(struct hd_regs *regs) {
    __asm__ volatile("adr x9, .\n\t"
                     "str x9, [%0]\n\t"
                     "mov x9, sp\n\t"
                     "str x9, [%1]\n\t"
                     "stp x19, x20, [%2]\n\t"
                     "stp x21, x22, [%2, #16]\n\t"
                     "stp x23, x24, [%2, #32]\n\t"
                     "stp x25, x26, [%2, #48]\n\t"
                     "stp x27, x28, [%2, #64]\n\t"
                     "stp x29, x30, [%2, #80]"
                     :
                     : "r"(&regs->pc), "r"(&regs->sp), "r"(&regs->r[19])
                     : "x9", "memory");
    regs->valid = 0xfffULL << 19;
}
#else
#error "not known how to read this machine's registers: add it here"
#endif

#endif
