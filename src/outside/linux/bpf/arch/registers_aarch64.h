/* SPDX-License-Identifier: MIT
 *
 * The registers of arm64. Included by kernel.h.
 */
#ifndef HD_REGISTERS_AARCH64_H
#define HD_REGISTERS_AARCH64_H

#define CALL_PREFIX "__arm64_sys_"
#define CALL_REGISTERS 0x7fffffffULL

struct pt_regs {
    __u64 regs[31];
    __u64 sp;
    __u64 pc;
    __u64 orig_x0;
    int syscallno;
} KERNEL_STRUCT;

static __always_inline int call_number(const struct pt_regs *r) {
    return r->syscallno;
}

/* True: the program made the call by the table for 32-bit programs. */
static __always_inline int is_call_of_32_bits(const struct task_struct *t) {
    return (t->thread_info.flags & 1 << 22) != 0; /* TIF_32BIT */
}

static __always_inline __u64 call_pc(const struct pt_regs *r) {
    return r->pc;
}

static __always_inline __u64 call_sp(const struct pt_regs *r) {
    return r->sp;
}

static __always_inline void call_args(const struct pt_regs *r, __u64 args[6]) {
    args[0] = r->orig_x0;
    args[1] = r->regs[1];
    args[2] = r->regs[2];
    args[3] = r->regs[3];
    args[4] = r->regs[4];
    args[5] = r->regs[5];
}

/* In the order of DWARF's numbers. */
static __always_inline void store_registers(const struct pt_regs *r, __u64 *to) {
#pragma unroll
    for (int i = 0; i < 31; i++) {
        to[i] = r->regs[i];
    }
}

#endif
