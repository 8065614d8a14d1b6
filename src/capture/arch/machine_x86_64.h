/* SPDX-License-Identifier: MIT
 *
 * The CPU-specific part of capturing for x86-64. Signal handlers call these functions: wait-free,
 * async-signal-safe.
 */
#ifndef HD_MACHINE_X86_64_H
#define HD_MACHINE_X86_64_H

#include "base/types.h"

#define HD_RED_ZONE 128 /* bytes below the stack pointer that a leaf function may use */

/* Copies bytes by an instruction that sanitizers do not check, because another thread may be writing to the
 * source stack. */
static inline void hd_machine_copy(void *to, const void *from, size_t n) {
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

static inline void hd_machine_relax(void) {
    __builtin_ia32_pause();
}

/* Fetches the cache line for writing, because this CPU will soon write to it. A CPU that does not know the
 * instruction ignores the instruction. */
static inline void hd_machine_fetch(const void *line) {
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)line));
}

/* Call this if the thread has called an address without code. Changes *regs to the caller's registers.
 * `stack` has the bytes at the stack pointer, which start with the return address. */
static inline void hd_machine_return(struct hd_regs *regs, const uint8_t *stack) {
    __builtin_memcpy(&regs->pc, stack, sizeof regs->pc);
    regs->sp += sizeof regs->pc;
}

#endif
