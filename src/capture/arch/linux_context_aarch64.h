/* SPDX-License-Identifier: MIT
 *
 * The CPU-specific part of capturing for arm64 Linux. The kernel stores the result of a system call in x0 and
 * so overwrites the first argument. Without that argument the handler cannot repeat a call that our signal
 * interrupted, and only counts the call. The signal handler calls these functions: wait-free,
 * async-signal-safe.
 */
#ifndef HD_LINUX_CONTEXT_AARCH64_H
#define HD_LINUX_CONTEXT_AARCH64_H

#include <errno.h>
#include <sys/ucontext.h>

#include "capture/arch/machine.h"

static inline uint64_t hd_machine_thread_pointer(void) {
    return (uint64_t)__builtin_thread_pointer();
}

/* glibc's thread descriptor (struct pthread) lies right below the thread pointer. */
#define HD_DESCRIPTOR_BYTES 1536u
#define HD_DESCRIPTOR_AT (-(int64_t)HD_DESCRIPTOR_BYTES)

static inline void hd_machine_blocked_regs(struct hd_regs *regs, const uint64_t args[6]) {
    /* args[0] is right for x0: /proc shows the first argument even after the kernel has overwritten x0. */
    for (unsigned i = 0; i < 6; i++) {
        regs->r[i] = args[i];
        regs->valid |= 1ULL << i;
    }
}

static inline void hd_machine_context_regs(struct hd_regs *regs, const ucontext_t *context) {
    for (unsigned i = 0; i < 31; i++) {
        regs->r[i] = context->uc_mcontext.regs[i];
    }
    regs->pc = context->uc_mcontext.pc;
    regs->sp = context->uc_mcontext.sp;
    regs->valid = 0x7fffffff;
}

typedef long (*hd_machine_read)(uint64_t addr, void *to, size_t n);

/* Returns argument `i` of the system call. The first argument is lost once the call has returned. */
static inline uint64_t hd_machine_argument(const ucontext_t *context, unsigned i) {
    return context->uc_mcontext.regs[i];
}

static inline long hd_machine_result(const ucontext_t *context) {
    return (long)context->uc_mcontext.regs[0];
}

enum hd_machine_call {
    HD_CALL_NONE,
    HD_CALL_ENDED,
    HD_CALL_GAVE,
    HD_CALL_RESTARTED
};

static inline enum hd_machine_call hd_machine_call_at(const ucontext_t *context, hd_machine_read read,
                                                      long *nr) {
    uint32_t code = 0;

    *nr = -1;
    if (hd_machine_result(context) != -EINTR || read(context->uc_mcontext.pc - 4, &code, 4) != 4) {
        return HD_CALL_NONE;
    }
    return code == 0xd4000001U ? HD_CALL_ENDED : HD_CALL_NONE; /* svc #0 */
}

static inline void hd_machine_call_again(ucontext_t *context, long nr) {
    (void)context;
    (void)nr;
}

static inline void hd_machine_call_end(ucontext_t *context) {
    (void)context;
}

struct hd_machine_frame {
    uint64_t pc;
};

static inline uint64_t hd_machine_stale_frame(const ucontext_t *context) {
    (void)context;
    return 0;
}

static inline uint64_t hd_machine_own_frame(const ucontext_t *context) {
    return (uint64_t)(uintptr_t)context->uc_mcontext.regs;
}

static inline bool hd_machine_same_place(const ucontext_t *context, const struct hd_machine_frame *stale) {
    (void)context;
    (void)stale;
    return false;
}

#define HD_STALE_MARK offsetof(struct hd_machine_frame, pc)

#endif
