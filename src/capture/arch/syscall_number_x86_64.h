/* SPDX-License-Identifier: MIT
 *
 * Finds the number of a system call that has returned. The result has replaced the number in rax, but the
 * code before the system call instruction shows where the number came from. The functions return a number
 * only if the code proves it. The signal handler calls them: wait-free, async-signal-safe.
 */
#ifndef HD_SYSCALL_NUMBER_X86_64_H
#define HD_SYSCALL_NUMBER_X86_64_H

#include <sys/ucontext.h>

#include "base/types.h"

/* A function of this type reads memory that may be unmapped. It returns the number of bytes read, or a
 * negative errno. */
typedef long (*hd_machine_read)(uint64_t addr, void *to, size_t n);

/* how many bytes before a system call instruction the functions decode */
#define HD_CODE_BYTES 24u

enum {
    HD_RAX = 1U << 0,
    HD_RSP = 1U << 4,
    HD_RBP = 1U << 5,
    HD_RSI = 1U << 6
};

/* Returns the length of the instruction at `code` if the instruction loads a register that has no bit in
 * `kept`. Otherwise returns 0. One instruction loads the system call's number. The code proves the number
 * only if all later instructions are such loads. libc's compiler puts little else before the system call. */
static inline size_t hd_code_load_bytes(const uint8_t *code, size_t n, unsigned kept) {
    size_t at = n > 0 && (code[0] & 0xf0) == 0x40 ? 1 : 0;
    uint8_t rex = at != 0 ? code[0] : 0;

    if (n < at + 2) {
        return 0;
    }
    uint8_t op = code[at++];
    if (op >= 0xb8 && op <= 0xbf) { /* mov $imm32,%reg */
        unsigned to = (op & 7U) | (rex & 1U) << 3;
        return (rex & 8) == 0 && (kept >> to & 1) == 0 && n >= at + 4 ? at + 4 : 0;
    }
    uint8_t modrm = code[at++];
    uint8_t mod = modrm >> 6, reg = (modrm >> 3 & 7) | (rex & 4) << 1, rm = modrm & 7;
    if ((op == 0x89 || op == 0x31) && mod == 3) { /* mov, xor between registers */
        return (kept >> (rm | (rex & 1) << 3) & 1) == 0 ? at : 0;
    }
    if ((op != 0x8b && op != 0x8d) || (kept >> reg & 1) != 0) { /* mov from memory or register, lea */
        return 0;
    }
    uint8_t base = rm;
    if (mod != 3 && rm == 4 && at < n) {
        base = code[at++] & 7;
    }
    if (mod == 1) {
        at += 1;
    } else if (mod == 2 || (mod == 0 && base == 5)) {
        at += 4;
    }
    return at <= n ? at : 0;
}

static inline bool hd_code_only_loads(const uint8_t *code, const uint8_t *end, unsigned kept) {
    while (code < end) {
        size_t more = hd_code_load_bytes(code, (size_t)(end - code), kept);
        if (more == 0) {
            return false;
        }
        code += more;
    }
    return true;
}

/* If the code is `mov disp8(%rsp),%REG` or `mov disp8(%rbp),%REG`, stores the address of the loaded word in
 * *slot. Returns the length of this instruction without its prefix. For other code returns 0. */
static inline size_t hd_code_slot_bytes(const uint8_t *code, const uint8_t *end, unsigned reg, uint64_t sp,
                                        uint64_t bp, uint64_t *slot) {
    if (end - code >= 4 && code[0] == 0x8b && code[1] == (0x44 | reg << 3) && code[2] == 0x24) {
        *slot = sp + (uint64_t)(int8_t)code[3];
        return 4;
    }
    if (end - code >= 3 && code[0] == 0x8b && code[1] == (0x45 | reg << 3)) {
        *slot = bp + (uint64_t)(int8_t)code[2];
        return 3;
    }
    return 0;
}

/* Reads the system call's number from the address `slot` on the stack, where a function's argument lies. The
 * argument has not changed since the code loaded it: no instruction between the load and the system call
 * stores to memory. */
static inline long hd_number_in(uint64_t slot, hd_machine_read read) {
    uint64_t nr = 0;
    return read(slot, &nr, sizeof nr) == (long)sizeof nr && nr <= 0xffff ? (long)nr : -1;
}

/* the first bytes of glibc's function for cancellable calls: mov (%rdi),%eax; testb $8,(%rdi); jne */
#define HD_CANCEL_HEAD_BYTES 11u

/* Finds the system call's number in code of glibc 2.41 and 2.42. There, once a program has a second
 * thread, one function makes all system calls that pthread_cancel can end. The caller of that function
 * loads the number into rsi, where an argument of the call later replaces it. But the caller itself got
 * the number as an argument on the stack, and that argument is intact. `pc` is right behind the system
 * call instruction. */
static inline long hd_number_of_cancellable(uint64_t pc, uint64_t sp, uint64_t bp, hd_machine_read read) {
    static const uint8_t tail[33] = {
        0x49, 0x89, 0xfb,             /* mov %rdi,%r11 */
        0x48, 0x89, 0xf0,             /* mov %rsi,%rax */
        0x48, 0x89, 0xd7,             /* mov %rdx,%rdi */
        0x48, 0x89, 0xce,             /* mov %rcx,%rsi */
        0x4c, 0x89, 0xc2,             /* mov %r8,%rdx */
        0x4d, 0x89, 0xca,             /* mov %r9,%r10 */
        0x4c, 0x8b, 0x44, 0x24, 0x08, /* mov 8(%rsp),%r8 */
        0x4c, 0x8b, 0x4c, 0x24, 0x10, /* mov 16(%rsp),%r9 */
        0x4c, 0x89, 0x5c, 0x24, 0x08, /* mov %r11,8(%rsp) */
    };
    uint8_t found[sizeof tail], code[40];
    const uint8_t *call = code + sizeof code - 5;
    uint64_t back = 0, slot = 0;

    if (read(pc - 2 - sizeof tail, found, sizeof found) != (long)sizeof found) {
        return -1;
    }
    for (size_t i = 0; i < sizeof tail; i++) {
        if (found[i] != tail[i]) {
            return -1;
        }
    }
    if (read(sp, &back, sizeof back) != (long)sizeof back ||
        read(back - sizeof code, code, sizeof code) != (long)sizeof code || call[0] != 0xe8) {
        return -1;
    }
    uint32_t to = call[1] | (uint32_t)call[2] << 8 | (uint32_t)call[3] << 16 | (uint32_t)call[4] << 24;
    uint64_t begin = pc - 2 - sizeof tail - HD_CANCEL_HEAD_BYTES;
    /* the number of bytes before the known code of glibc's function: 0, or 4 if the function starts with
     * endbr64 */
    uint64_t before = begin - (back + (uint64_t)(int32_t)to);
    for (const uint8_t *from = call - 3; from > code && (before == 0 || before == 4); from--) {
        size_t bytes = hd_code_slot_bytes(from, call, 6, sp + sizeof back, bp, &slot);
        if (bytes != 0 && from[-1] == 0x48 &&
            hd_code_only_loads(from + bytes, call, HD_RSI | HD_RSP | HD_RBP)) {
            return hd_number_in(slot, read);
        }
    }
    return -1;
}

/* Returns the number of the system call that has returned and whose instruction follows `code`. The number
 * must come from `mov $nr,%eax`, `xor %eax,%eax` or a load from the stack, with only loads between that
 * instruction and the system call. Or the number must come from `mov %reg,%eax` right before the system
 * call. Returns a negative number if the code does not show the system call's number. */
static inline long hd_machine_number(const uint8_t code[HD_CODE_BYTES], const ucontext_t *context,
                                     hd_machine_read read) {
    static const uint8_t place[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                      REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    const greg_t *regs = context->uc_mcontext.gregs;
    const uint8_t *end = code + HD_CODE_BYTES;
    uint64_t sp = (uint64_t)regs[REG_RSP], bp = (uint64_t)regs[REG_RBP], slot = 0;

    for (const uint8_t *from = end - 2; from > code; from--) {
        /* True if the byte before `from` may be a REX prefix. With a prefix, the bytes at `from` would name
         * another register. */
        bool prefixed = (from[-1] & 0xf0) == 0x40;
        size_t at = prefixed && from[-1] != 0x48 ? 0 : hd_code_slot_bytes(from, end, 0, sp, bp, &slot);
        bool loaded = at != 0;
        long nr = -1;
        if (from[0] == 0xb8 && end - from >= 5 && !prefixed && from[3] == 0 && from[4] == 0) {
            nr = from[1] | from[2] << 8;
            at = 5;
        } else if (from[0] == 0x31 && from[1] == 0xc0 && !prefixed) {
            nr = 0;
            at = 2;
        } else if (from == end - 2 && from[0] == 0x89 && (from[1] & 0xc7) == 0xc0) {
            unsigned reg = (from[1] >> 3 & 7) | (from[-1] == 0x44 ? 8 : 0);
            return reg == 0 || reg == 1 || reg == 11 ? -1 : (long)regs[place[reg]];
        } else if (!loaded) {
            continue;
        }
        if (hd_code_only_loads(from + at, end, loaded ? HD_RAX | HD_RSP | HD_RBP : HD_RAX)) {
            return loaded ? hd_number_in(slot, read) : nr;
        }
    }
    return hd_number_of_cancellable((uint64_t)regs[REG_RIP], sp, bp, read);
}

#endif
