/* SPDX-License-Identifier: MIT
 *
 * The CPU-specific part of capturing for arm64. Signal handlers call these functions: wait-free,
 * async-signal-safe.
 */
#ifndef HD_MACHINE_AARCH64_H
#define HD_MACHINE_AARCH64_H

#include "base/types.h"

#define HD_RED_ZONE                                                                        \
    256 /* no function uses these bytes: return addresses there name the callers of leaves \
         */

static inline void hd_machine_copy(void *to, const void *from, size_t n) {
    uint64_t word;
    __asm__ volatile("1: cmp %[n], #8\n"
                     "   b.lo 2f\n"
                     "   ldr %[w], [%[from]], #8\n"
                     "   str %[w], [%[to]], #8\n"
                     "   sub %[n], %[n], #8\n"
                     "   b 1b\n"
                     "2: cbz %[n], 3f\n"
                     "   ldrb %w[w], [%[from]], #1\n"
                     "   strb %w[w], [%[to]], #1\n"
                     "   sub %[n], %[n], #1\n"
                     "   b 2b\n"
                     "3:\n"
                     : [to] "+r"(to), [from] "+r"(from), [n] "+r"(n), [w] "=&r"(word)
                     :
                     : "memory", "cc");
}

static inline void hd_machine_relax(void) {
    __asm__ volatile("yield");
}

/* Fetches the cache line for writing, because this CPU will soon write to it. */
static inline void hd_machine_fetch(const void *line) {
    __asm__ volatile("prfm pstl1keep, [%0]" : : "r"(line));
}

/* Call this if the thread has called an address without code. Changes *regs to the caller's registers. The
 * link register x30 has the return address. */
static inline void hd_machine_return(struct hd_regs *regs, const uint8_t *stack) {
    (void)stack;
    regs->pc = regs->r[30];
}

#endif
