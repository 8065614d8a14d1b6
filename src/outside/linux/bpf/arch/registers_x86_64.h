/* SPDX-License-Identifier: MIT
 *
 * The registers of x86-64. Included by kernel.h.
 */
#ifndef HD_REGISTERS_X86_64_H
#define HD_REGISTERS_X86_64_H

#define CALL_PREFIX "__x64_sys_"
#define CALL_REGISTERS 0xf77aULL /* a call changes rax, rcx and r11 */

struct pt_regs {
    unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs, flags,
        sp;
} KERNEL_STRUCT;

static __always_inline int call_number(const struct pt_regs *r) {
    return (int)r->orig_ax;
}

/* True: the program made the call by the table for 32-bit programs. */
static __always_inline int is_call_of_32_bits(const struct task_struct *t) {
    return (t->thread_info.status & 2) != 0; /* TS_COMPAT */
}

static __always_inline __u64 call_pc(const struct pt_regs *r) {
    return r->ip;
}

static __always_inline __u64 call_sp(const struct pt_regs *r) {
    return r->sp;
}

static __always_inline void call_args(const struct pt_regs *r, __u64 args[6]) {
    args[0] = r->di;
    args[1] = r->si;
    args[2] = r->dx;
    args[3] = r->r10;
    args[4] = r->r8;
    args[5] = r->r9;
}

/* In the order of DWARF's numbers. */
static __always_inline void store_registers(const struct pt_regs *r, __u64 *to) {
    to[0] = r->ax;
    to[1] = r->dx;
    to[2] = r->cx;
    to[3] = r->bx;
    to[4] = r->si;
    to[5] = r->di;
    to[6] = r->bp;
    to[7] = r->sp;
    to[8] = r->r8;
    to[9] = r->r9;
    to[10] = r->r10;
    to[11] = r->r11;
    to[12] = r->r12;
    to[13] = r->r13;
    to[14] = r->r14;
    to[15] = r->r15;
}

#endif
