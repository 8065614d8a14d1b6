/* SPDX-License-Identifier: MIT
 *
 * The CPU-specific part of capturing for x86-64 Linux. The functions read a signal's context, the code around
 * a system call instruction, and a signal's frame. The signal handler calls these functions: wait-free,
 * async-signal-safe.
 */
#ifndef HD_LINUX_CONTEXT_X86_64_H
#define HD_LINUX_CONTEXT_X86_64_H

#include <errno.h>
#include <sys/ucontext.h>

#include "capture/arch/machine.h"
#include "capture/arch/syscall_number_x86_64.h"

static inline uint64_t hd_machine_thread_pointer(void) {
    uint64_t tp;
    __asm__ volatile("mov %%fs:0, %0" : "=r"(tp));
    return tp;
}

/* glibc's thread descriptor (struct pthread) starts at the thread pointer. */
#define HD_DESCRIPTOR_AT 0
#define HD_DESCRIPTOR_BYTES 2048u

/* Stores the argument registers of a thread that is blocked in a system call. /proc shows no other general
 * registers. */
static inline void hd_machine_blocked_regs(struct hd_regs *regs, const uint64_t args[6]) {
    /* The DWARF numbers of rdi, rsi, rdx, r10, r8 and r9. */
    static const uint8_t number[6] = {5, 4, 1, 10, 8, 9};
    for (unsigned i = 0; i < 6; i++) {
        regs->r[number[i]] = args[i];
        regs->valid |= 1ULL << number[i];
    }
}

static inline void hd_machine_context_regs(struct hd_regs *regs, const ucontext_t *context) {
    static const uint8_t place[16] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
                                      REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    for (unsigned i = 0; i < 16; i++) {
        regs->r[i] = (uint64_t)context->uc_mcontext.gregs[place[i]];
    }
    regs->pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
    regs->sp = (uint64_t)context->uc_mcontext.gregs[REG_RSP];
    regs->valid = 0xffff;
}

/* Returns argument `i` of the system call that the signal interrupted. The kernel leaves arguments in their
 * registers. */
static inline uint64_t hd_machine_argument(const ucontext_t *context, unsigned i) {
    static const uint8_t place[6] = {REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9};
    return (uint64_t)context->uc_mcontext.gregs[place[i]];
}

static inline long hd_machine_result(const ucontext_t *context) {
    return (long)context->uc_mcontext.gregs[REG_RAX];
}

enum hd_machine_call {
    HD_CALL_NONE,      /* our signal cannot have changed the result of a system call */
    HD_CALL_ENDED,     /* the system call has just returned -EINTR */
    HD_CALL_GAVE,      /* the system call has just returned a number above zero */
    HD_CALL_RESTARTED, /* pc is back at the call's instruction: the thread will repeat the call */
};

/* Returns what the signal did to the system call at the context's pc, and stores the call's number in *nr.
 * The number is negative if the code does not show it. The function reads the code by `read`, because a
 * page that can be executed need not be readable. */
static inline enum hd_machine_call hd_machine_call_at(const ucontext_t *context, hd_machine_read read,
                                                      long *nr) {
    uint64_t pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
    /* The system call instruction has stored the address of the next instruction in rcx. */
    uint64_t rcx = (uint64_t)context->uc_mcontext.gregs[REG_RCX];
    long rax = hd_machine_result(context);
    enum hd_machine_call call = rax > 0 ? HD_CALL_GAVE : HD_CALL_ENDED;
    uint8_t code[HD_CODE_BYTES + 2] = {0};

    *nr = rax;
    if (rax >= 0 && rcx == pc + 2) { /* true if the kernel has moved pc back by the two bytes of `syscall` */
        return HD_CALL_RESTARTED;
    }
    if (rax != -EINTR && (rax <= 0 || rcx != pc)) {
        return HD_CALL_NONE;
    }
    *nr = -1;
    if (read(pc - sizeof code, code, sizeof code) != (long)sizeof code) {
        return read(pc - 2, code, 2) == 2 && code[0] == 0x0f && code[1] == 0x05 ? call : HD_CALL_NONE;
    }
    if (code[HD_CODE_BYTES] != 0x0f || code[HD_CODE_BYTES + 1] != 0x05) {
        return HD_CALL_NONE;
    }
    *nr = hd_machine_number(code, context, read);
    return call;
}

/* Moves pc back to the system call instruction, so that the thread repeats the call. The arguments are still
 * in their registers. */
static inline void hd_machine_call_again(ucontext_t *context, long nr) {
    context->uc_mcontext.gregs[REG_RIP] -= 2;
    context->uc_mcontext.gregs[REG_RAX] = nr;
}

/* Call this if the kernel has prepared to repeat the system call. Makes that call return -EINTR instead. */
static inline void hd_machine_call_end(ucontext_t *context) {
    context->uc_mcontext.gregs[REG_RIP] += 2;
    context->uc_mcontext.gregs[REG_RAX] = -EINTR;
}

/* The interrupted registers in a signal's frame. The kernel puts the frame on the stack, and the bytes stay
 * there after the handler has returned. */
struct hd_machine_frame {
    uint64_t r[17]; /* in the order of gregs: r8 … r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip */
};

/* Returns the address of an earlier signal's struct hd_machine_frame, if that signal interrupted the
 * thread at the stack pointer of `context`. Returns 0 if the address is not known. Like the kernel's
 * get_sigframe, the function subtracts the red zone, the saved CPU state and the signal's frame from the
 * stack pointer. */
static inline uint64_t hd_machine_stale_frame(const ucontext_t *context) {
    const uint8_t *fp = (const uint8_t *)context->uc_mcontext.fpregs;
    uint32_t magic = 0, bytes = 512;
    uint64_t at = (uint64_t)context->uc_mcontext.gregs[REG_RSP] - HD_RED_ZONE;

    if (fp == NULL) {
        return 0;
    }
    /* The FXSAVE area has struct _fpx_sw_bytes in its spare bytes: a magic number, then the size of the CPU
     * state. */
    hd_machine_copy(&magic, fp + 464, sizeof magic);
    if (magic == 0x46505853U) {
        hd_machine_copy(&bytes, fp + 468, sizeof bytes);
    }
    at = (at - bytes) & ~63ULL;
    /* The kernel's struct rt_sigframe has 440 bytes: the return address, 304 of ucontext and 128 of
     * siginfo. */
    at = ((at - 440) & ~15ULL) - 8;
    return at + 8 + offsetof(ucontext_t, uc_mcontext.gregs);
}

/* Returns the address of struct hd_machine_frame in the running handler's frame. */
static inline uint64_t hd_machine_own_frame(const ucontext_t *context) {
    return (uint64_t)(uintptr_t)context->uc_mcontext.gregs;
}

static inline bool hd_machine_same_place(const ucontext_t *context, const struct hd_machine_frame *stale) {
    return stale->r[REG_RIP] == (uint64_t)context->uc_mcontext.gregs[REG_RIP] &&
           stale->r[REG_RSP] == (uint64_t)context->uc_mcontext.gregs[REG_RSP] &&
           stale->r[REG_RAX] == (uint64_t)context->uc_mcontext.gregs[REG_RAX];
}

/* The offset of the value that the handler overwrites in an earlier signal's frame. For an overwritten
 * frame, hd_machine_same_place returns false. */
#define HD_STALE_MARK offsetof(struct hd_machine_frame, r[REG_RIP])

#endif
