/* SPDX-License-Identifier: MIT
 *
 * x86-64: steps to a caller by reading instructions, and the kernel's signal frame.
 * On the worker thread, also during a hang, so without allocation.
 */
/* Packages compile the files of all CPUs. */
#ifdef __x86_64__

#include <errno.h>
#include <string.h>

#include "unwind/arch/arch.h"

#define STRAIGHT_BYTES 40u /* hd_arch_step_straight looks for `ret` in so many bytes */

/* Returns the length of `call r/m64` in bytes, from the opcode ff on, by its ModRM and SIB bytes. 0: another
 * instruction. */
static unsigned indirect_call_length(uint8_t modrm, uint8_t sib) {
    unsigned mod = modrm >> 6, rm = modrm & 7;
    if ((modrm >> 3 & 7) != 2) {
        return 0;
    }
    if (mod == 3) {
        return 2;
    }
    unsigned length = 2 + (rm == 4);
    if (mod == 1) {
        return length + 1;
    }
    if (mod == 2 || rm == 5 || (rm == 4 && (sib & 7) == 5)) {
        return length + 4;
    }
    return length;
}

bool hd_arch_after_call(const struct hd_memory *memory, uint64_t ra, uint64_t *target) {
    uint8_t code[8]; /* code[7] is the last byte before ra */
    *target = 0;
    if (ra < sizeof code) {
        return false;
    }
    if (!hd_memory_read(memory, ra - sizeof code, code, sizeof code)) {
        /* the first of these bytes may be unmapped: read enough for a call of 5 bytes */
        code[0] = 0;
        if (!hd_memory_read(memory, ra - 5, code + 3, 5)) {
            return false;
        }
        memset(code, 0, 3);
    }
    if (code[3] == 0xe8) { /* call rel32 */
        int32_t distance;
        memcpy(&distance, code + 4, 4);
        *target = ra + (uint64_t)(int64_t)distance;
        return true;
    }
    for (unsigned n = 2; n <= 7; n++) {
        if (code[8 - n] == 0xff && indirect_call_length(code[9 - n], n > 2 ? code[10 - n] : 0) == n) {
            return true;
        }
    }
    return false;
}

bool hd_arch_is_stub(const struct hd_memory *memory, uint64_t code, uint64_t *slot) {
    uint8_t at[11];
    *slot = 0;
    if (!hd_memory_read(memory, code, at, sizeof at)) {
        return false;
    }
    unsigned n = memcmp(at, "\xf3\x0f\x1e\xfa", 4) == 0 ? 4 : 0; /* endbr64 */
    n += at[n] == 0xf2;                                          /* bnd */
    if (memcmp(at + n, "\xff\x25", 2) != 0) {                    /* jmp *disp32(%rip) */
        return false;
    }
    int32_t distance;
    memcpy(&distance, at + n + 2, 4);
    *slot = code + n + 6 + (uint64_t)(int64_t)distance;
    return true;
}

/* Sets *next to the caller, whose return address is at address `slot` of the stack. Callee-saved registers
 * keep their values. Returns 0 if the stack copy lacks that address, else 1. */
static int returned(const struct hd_stack *stack, const struct hd_regs *regs, uint64_t slot,
                    struct hd_regs *next) {
    uint64_t ra;
    if (!hd_stack_read(stack, slot, &ra, 8)) {
        return 0;
    }
    *next = *regs;
    next->pc = ra;
    next->sp = slot + 8;
    next->valid &= HD_ARCH_CALLEE_SAVED;
    return 1;
}

int hd_arch_step_bare(const struct hd_memory *memory, const struct hd_stack *stack,
                      const struct hd_regs *regs, struct hd_regs *next) {
    uint8_t code[8] = {0};
    unsigned before = 1; /* code[before] is at pc */
    if (!hd_memory_read(memory, regs->pc - 1, code, 5)) {
        before = 0;
        if (!hd_memory_read(memory, regs->pc, code, 4)) {
            return 0;
        }
    }
    const uint8_t *at = code + before;
    if (memcmp(at, "\xf3\x0f\x1e\xfa", 4) == 0) { /* endbr64: the function has run no instruction yet */
        return returned(stack, regs, regs->sp, next);
    }
    if (at[0] == 0x55 && at[1] == 0x48 &&
        ((at[2] == 0x89 && at[3] == 0xe5) || (at[2] == 0x8b && at[3] == 0xec))) {
        return returned(stack, regs, regs->sp, next); /* push %rbp is next */
    }
    if (at[0] == 0xc3 || at[0] == 0xc2) { /* ret */
        return returned(stack, regs, regs->sp, next);
    }
    if (before == 1 && code[0] == 0x55 && at[0] == 0x48 &&
        ((at[1] == 0x89 && at[2] == 0xe5) || (at[1] == 0x8b && at[2] == 0xec))) {
        return returned(stack, regs, regs->sp + 8, next); /* push %rbp has run, mov %rsp,%rbp is next */
    }
    return 0;
}

/* Reads one instruction between pc and `ret`. Returns the instruction's length in bytes; 0: not one of
 * those below. Sets *moved: the number of bytes that it adds to the stack pointer. Sets *popped: the DWARF
 * number of the register that it pops, or -1. The moves, tests and calls are those of crt's _init and _fini.
 */
static unsigned straight(const uint8_t *c, int64_t *moved, int *popped) {
    unsigned rex = (c[0] & 0xf0) == 0x40, b = rex ? (c[0] & 1u) << 3 : 0;
    static const uint8_t number[16] = {0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15}; /* DWARF's */
    *moved = 0;
    *popped = -1;
    if ((c[rex] & 0xf8) == 0x58) { /* pop */
        *moved = 8;
        *popped = number[(c[rex] & 7u) | b];
        return 1 + rex;
    }
    if (memcmp(c, "\x48\x83\xc4", 3) == 0) { /* add $imm8,%rsp */
        *moved = c[3] < 0x80 ? c[3] : c[3] - 0x100;
        return 4;
    }
    if (memcmp(c, "\x48\x81\xc4", 3) == 0) { /* add $imm32,%rsp */
        int32_t imm;
        memcpy(&imm, c + 3, 4);
        *moved = imm;
        return 7;
    }
    if (memcmp(c, "\x48\x8b\x05", 3) == 0) { /* mov disp32(%rip),%rax */
        return 7;
    }
    if (memcmp(c, "\x48\x85\xc0", 3) == 0) { /* test %rax,%rax */
        return 3;
    }
    if (memcmp(c, "\xff\xd0", 2) == 0 || c[0] == 0x74) { /* call *%rax; je */
        return 2;
    }
    return c[0] == 0xe8 ? 5 : c[0] == 0x90 ? 1 : 0; /* call; nop */
}

int hd_arch_step_straight(const struct hd_memory *memory, const struct hd_stack *stack,
                          const struct hd_regs *regs, struct hd_regs *next) {
    uint8_t code[STRAIGHT_BYTES + 8] = {0};
    struct hd_regs now = *regs;
    size_t bytes = STRAIGHT_BYTES;
    while (!hd_memory_read(memory, regs->pc, code, bytes)) { /* the page may end earlier: read half */
        if ((bytes /= 2) == 0) {
            return 0;
        }
    }
    for (size_t at = 0; at < bytes;) {
        int64_t moved;
        int popped;
        if (code[at] == 0xc3) {
            return returned(stack, &now, now.sp, next);
        }
        unsigned length = straight(code + at, &moved, &popped);
        if (length == 0 || moved < 0 || popped == (int)HD_ARCH_SP) {
            return 0;
        }
        if (popped >= 0) {
            if (!hd_stack_read(stack, now.sp, &now.r[popped], 8)) {
                return 0;
            }
            now.valid |= UINT64_C(1) << popped;
        }
        now.sp += (uint64_t)moved;
        at += length;
    }
    return 0;
}

int hd_arch_step_leaf(const struct hd_stack *stack, const struct hd_regs *regs, struct hd_regs *next) {
    return returned(stack, regs, regs->sp, next);
}

/* The handler's `ret` has popped the first word of struct rt_sigframe, so that the stack pointer is at the
 * ucontext. The general registers are at byte 40 of the ucontext. */
int hd_arch_step_signal(const struct hd_memory *memory, const struct hd_stack *stack,
                        const struct hd_regs *regs, struct hd_regs *next) {
    static const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05}; /* mov $15,%rax; syscall */
    /* DWARF numbers of the saved registers in their order; rsp and rip follow */
    static const uint8_t order[] = {8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2};
    uint8_t there[sizeof code];
    uint64_t saved[sizeof order + 2];
    if (!hd_memory_read(memory, regs->pc, there, sizeof there) || memcmp(there, code, sizeof code) != 0) {
        return 0;
    }
    if (!hd_stack_read(stack, regs->sp + 40, saved, sizeof saved)) {
        return -EFAULT;
    }
    for (unsigned i = 0; i < sizeof order; i++) {
        next->r[order[i]] = saved[i];
        next->valid |= UINT64_C(1) << order[i];
    }
    next->sp = saved[sizeof order];
    next->pc = saved[sizeof order + 1];
    return 1;
}

#endif
