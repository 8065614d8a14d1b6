/* SPDX-License-Identifier: MIT
 *
 * x86-64: what instructions before and at an address say, and the kernel's signal frame.
 * Worker: may run while a hang is on, no allocation.
 */
#include <errno.h>
#include <string.h>

#include "unwind/arch.h"

static bool read_code(const struct hd_memory *memory, uint64_t at, void *dst, size_t n) {
    return memory->read(memory->ctx, at, dst, n) == 0;
}

/* Length of `call r/m64` by its ModRM and SIB bytes, counted from the opcode ff; 0: it is another instruction. */
static unsigned indirect_call_length(uint8_t modrm, uint8_t sib) {
    unsigned mod = modrm >> 6, rm = modrm & 7;
    if ((modrm >> 3 & 7) != 2)
        return 0;
    if (mod == 3)
        return 2;
    unsigned length = 2 + (rm == 4);
    if (mod == 1)
        return length + 1;
    if (mod == 2 || rm == 5 || (rm == 4 && (sib & 7) == 5))
        return length + 4;
    return length;
}

bool hd_arch_after_call(const struct hd_memory *memory, uint64_t ra, uint64_t *target) {
    uint8_t code[8]; /* code[7] is the last byte before ra */
    *target = 0;
    if (ra < sizeof code)
        return false;
    if (!read_code(memory, ra - sizeof code, code, sizeof code)) {
        code[0] = 0; /* the page begins at ra - 7 or later: the shortest calls may still fit */
        if (!read_code(memory, ra - 5, code + 3, 5))
            return false;
        memset(code, 0, 3);
    }
    if (code[3] == 0xe8) { /* call rel32 */
        int32_t distance;
        memcpy(&distance, code + 4, 4);
        *target = ra + (uint64_t)(int64_t)distance;
        return true;
    }
    for (unsigned n = 2; n <= 7; n++)
        if (code[8 - n] == 0xff && indirect_call_length(code[9 - n], n > 2 ? code[10 - n] : 0) == n)
            return true;
    return false;
}

/* The caller when the return address is at `slot` on the stack. Nothing but the stack pointer changed. */
static int returned(const struct hd_stack *stack, const struct hd_regs *regs, uint64_t slot, struct hd_regs *next) {
    uint64_t ra;
    if (!hd_stack_read(stack, slot, &ra, 8))
        return 0;
    *next = *regs;
    next->pc = ra;
    next->sp = slot + 8;
    next->valid &= HD_ARCH_CALLEE_SAVED;
    return 1;
}

int hd_arch_step_bare(const struct hd_memory *memory, const struct hd_stack *stack, const struct hd_regs *regs,
                      struct hd_regs *next) {
    uint8_t code[8] = {0};
    unsigned before = 1; /* code[before] is at pc */
    if (!read_code(memory, regs->pc - 1, code, 5)) {
        before = 0;
        if (!read_code(memory, regs->pc, code, 4))
            return 0;
    }
    const uint8_t *at = code + before;
    if (memcmp(at, "\xf3\x0f\x1e\xfa", 4) == 0) /* endbr64: the first instruction */
        return returned(stack, regs, regs->sp, next);
    if (at[0] == 0x55 && at[1] == 0x48 && ((at[2] == 0x89 && at[3] == 0xe5) || (at[2] == 0x8b && at[3] == 0xec)))
        return returned(stack, regs, regs->sp, next); /* push %rbp to come */
    if (at[0] == 0xc3 || at[0] == 0xc2) /* ret */
        return returned(stack, regs, regs->sp, next);
    if (before == 1 && code[0] == 0x55 && at[0] == 0x48 &&
        ((at[1] == 0x89 && at[2] == 0xe5) || (at[1] == 0x8b && at[2] == 0xec)))
        return returned(stack, regs, regs->sp + 8, next); /* push %rbp done, mov %rsp,%rbp to come */
    return 0;
}

int hd_arch_step_leaf(const struct hd_stack *stack, const struct hd_regs *regs, struct hd_regs *next) {
    return returned(stack, regs, regs->sp, next);
}

/* struct rt_sigframe after `ret` took its first word: ucontext begins at the stack pointer, general registers at 40. */
int hd_arch_step_signal(const struct hd_memory *memory, const struct hd_stack *stack, const struct hd_regs *regs,
                        struct hd_regs *next) {
    static const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05}; /* mov $15,%rax; syscall */
    static const uint8_t order[] = {8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2}; /* then rsp, rip */
    uint8_t there[sizeof code];
    uint64_t saved[sizeof order + 2];
    if (!read_code(memory, regs->pc, there, sizeof there) || memcmp(there, code, sizeof code) != 0)
        return 0;
    if (!hd_stack_read(stack, regs->sp + 40, saved, sizeof saved))
        return -EFAULT;
    for (unsigned i = 0; i < sizeof order; i++) {
        next->r[order[i]] = saved[i];
        next->valid |= UINT64_C(1) << order[i];
    }
    next->sp = saved[sizeof order];
    next->pc = saved[sizeof order + 1];
    return 1;
}
