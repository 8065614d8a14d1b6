/* SPDX-License-Identifier: MIT
 *
 * arm64: steps to a caller by reading instructions, and the kernel's signal frame.
 * On the worker thread, also during a hang, so without allocation.
 */
/* Packages compile the files of all CPUs. */
#ifdef __aarch64__

#include <errno.h>
#include <string.h>

#include "unwind/arch/arch.h"

/* offset of x0 in struct rt_sigframe, in bytes: siginfo 128, ucontext's head 176, fault address 8 */
#define CONTEXT_REGISTERS 312u

bool hd_arch_after_call(const struct hd_memory *memory, uint64_t ra, uint64_t *target) {
    uint32_t word;
    *target = 0;
    if (ra < 4 || (ra & 3) != 0 || !hd_memory_read(memory, ra - 4, &word, sizeof word)) {
        return false;
    }
    if ((word & 0xfc000000) == 0x94000000) { /* bl */
        int64_t distance = (int64_t)((uint64_t)word << 38) >> 36;
        *target = ra - 4 + (uint64_t)distance;
        return true;
    }
    return (word & 0xfefff000) == 0xd63f0000; /* blr, and its authenticating forms such as blraa */
}

bool hd_arch_is_stub(const struct hd_memory *memory, uint64_t code, uint64_t *slot) {
    uint32_t word[2];
    *slot = 0;
    if (hd_memory_read(memory, code, word, 4) && word[0] == 0xd503245f) { /* bti c */
        code += 4;
    }
    if (!hd_memory_read(memory, code, word, sizeof word)) {
        return false;
    }
    if ((word[0] & 0x9f00001f) != 0x90000010 || /* adrp x16 */
        (word[1] & 0xffc003ff) != 0xf9400211) { /* ldr x17, [x16, #n] */
        return false;
    }
    uint64_t pages =
        (uint64_t)((int64_t)((uint64_t)(word[0] >> 5 & 0x7ffff) << 45) >> 43) | (word[0] >> 29 & 3);
    *slot = (code & ~UINT64_C(4095)) + (pages << 12) + (word[1] >> 10 & 0xfff) * 8;
    return true;
}

/* Sets *next to the caller of a function that has not saved x30 yet, or has restored it: x30 has the return
 * address. Returns 0 if the value of x30 is not known, else 1. */
static int returned(const struct hd_regs *regs, struct hd_regs *next) {
    if ((regs->valid >> HD_ARCH_LR & 1) == 0) {
        return 0;
    }
    *next = *regs;
    next->pc = hd_arch_strip(regs->r[HD_ARCH_LR]);
    next->valid &= HD_ARCH_CALLEE_SAVED;
    return 1;
}

int hd_arch_step_bare(const struct hd_memory *memory, const struct hd_stack *stack,
                      const struct hd_regs *regs, struct hd_regs *next) {
    uint32_t word;
    (void)stack;
    if (!hd_memory_read(memory, regs->pc, &word, sizeof word)) {
        return 0;
    }
    bool first = (word & 0xffffff3f) == 0xd503241f ||        /* bti */
                 word == 0xd503233f || word == 0xd503237f || /* paciasp, pacibsp */
                 (word & 0xffc07fff) == 0xa9807bfd;          /* stp x29, x30, [sp, #-n]! */
    bool last =
        (word & 0xfffffc1f) == 0xd65f0000 || (word & 0xfffffbff) == 0xd65f0bff; /* ret, retaa, retab */
    return first || last ? returned(regs, next) : 0;
}

int hd_arch_step_straight(const struct hd_memory *memory, const struct hd_stack *stack,
                          const struct hd_regs *regs, struct hd_regs *next) {
    (void)memory; /* nothing to simulate: code for arm64 keeps frame records as a rule */
    (void)stack;
    (void)regs;
    (void)next;
    return 0;
}

int hd_arch_step_leaf(const struct hd_stack *stack, const struct hd_regs *regs, struct hd_regs *next) {
    (void)stack;
    return returned(regs, next);
}

int hd_arch_step_signal(const struct hd_memory *memory, const struct hd_stack *stack,
                        const struct hd_regs *regs, struct hd_regs *next) {
    uint32_t code[2];
    uint64_t saved[33];
    if (!hd_memory_read(memory, regs->pc, code, sizeof code) || code[0] != 0xd2801168 ||
        code[1] != 0xd4000001) {
        return 0; /* mov x8, #139; svc #0 */
    }
    if (!hd_stack_read(stack, regs->sp + CONTEXT_REGISTERS, saved, sizeof saved)) {
        return -EFAULT;
    }
    memcpy(next->r, saved, 31 * 8);
    next->valid = (UINT64_C(1) << 31) - 1;
    next->sp = saved[31];
    next->pc = hd_arch_strip(saved[32]);
    return 1;
}

#endif
