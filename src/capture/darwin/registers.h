/* SPDX-License-Identifier: MIT
 *
 * A thread's registers as Mach gives them, in the CPU's DWARF numbering, and the call that the thread is in.
 * Async-signal-safe.
 */
#ifndef HD_CAPTURE_REGISTERS_H
#define HD_CAPTURE_REGISTERS_H

#include "base/types.h"
#include "os/darwin/mach.h"

#if defined(__x86_64__)

/* The DWARF number of each of hd_mach_registers.general: rax, rbx, rcx, rdx, rdi, rsi, rbp, rsp, r8 to r15.
 */
static inline void hd_registers_store(struct hd_regs *to, const struct hd_mach_registers *from) {
    static const uint8_t number[16] = {0, 3, 2, 1, 5, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    for (unsigned i = 0; i < 16; i++) {
        to->r[number[i]] = from->general[i];
    }
    to->pc = from->pc;
    to->sp = from->sp;
    to->valid = 0xffff;
}

/* Stores the arguments of the call that the thread is in: rdi, rsi, rdx, r10, r8 and r9. */
static inline void hd_registers_arguments(uint64_t to[6], const struct hd_mach_registers *from) {
    static const uint8_t place[6] = {4, 5, 3, 10, 8, 9};
    for (unsigned i = 0; i < 6; i++) {
        to[i] = from->general[place[i]];
    }
}

#define HD_CALL_BYTES 2

static inline bool hd_registers_is_call(const uint8_t code[HD_CALL_BYTES]) {
    return code[0] == 0x0f && code[1] == 0x05; /* syscall */
}

/* No register has the call's number while the thread waits. src/cause finds it by the code before pc. */
static inline int32_t hd_registers_call(const struct hd_mach_registers *from) {
    (void)from;
    return HD_SYSCALL_NONE;
}

#elif defined(__aarch64__)

static inline void hd_registers_store(struct hd_regs *to, const struct hd_mach_registers *from) {
    for (unsigned i = 0; i < 31; i++) {
        to->r[i] = from->general[i];
    }
    to->pc = from->pc;
    to->sp = from->sp;
    to->valid = 0x7fffffff;
}

static inline void hd_registers_arguments(uint64_t to[6], const struct hd_mach_registers *from) {
    for (unsigned i = 0; i < 6; i++) {
        to[i] = from->general[i];
    }
}

#define HD_CALL_BYTES 4

static inline bool hd_registers_is_call(const uint8_t code[HD_CALL_BYTES]) {
    return code[0] == 0x01 && code[1] == 0x10 && code[2] == 0x00 && code[3] == 0xd4; /* svc #0x80 */
}

/* The number is in x16: positive for BSD, negative for Mach. */
static inline int32_t hd_registers_call(const struct hd_mach_registers *from) {
    return (int32_t)from->general[16];
}

#else
#error "no registers known for this machine: add them here"
#endif

#endif
