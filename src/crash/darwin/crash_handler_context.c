/* SPDX-License-Identifier: MIT
 *
 * Reads the layout of a signal's context. On arm64 the accessors remove pointer authentication.
 * Async-signal-safe.
 */
#include <mach/mach.h>
#include <string.h>
#include <sys/ucontext.h>

#include "crash/darwin/crash_handler.h"

void hd_crash_context_registers(const void *context, struct hd_mach_registers *out) {
    const ucontext_t *interrupted = context;
#if defined(__x86_64__)
    const _STRUCT_X86_THREAD_STATE64 *from = &interrupted->uc_mcontext->__ss;
    const uint64_t general[16] = {from->__rax, from->__rbx, from->__rcx, from->__rdx,
                                  from->__rdi, from->__rsi, from->__rbp, from->__rsp,
                                  from->__r8,  from->__r9,  from->__r10, from->__r11,
                                  from->__r12, from->__r13, from->__r14, from->__r15};
    memset(out, 0, sizeof *out);
    memcpy(out->general, general, sizeof general);
    out->pc = from->__rip;
    out->sp = from->__rsp;
#else
    const _STRUCT_ARM_THREAD_STATE64 *from = &interrupted->uc_mcontext->__ss;
    memcpy(out->general, from->__x, sizeof from->__x);
    out->general[29] = (uint64_t)__darwin_arm_thread_state64_get_fp(*from);
    out->general[30] = (uint64_t)__darwin_arm_thread_state64_get_lr(*from);
    out->pc = (uint64_t)__darwin_arm_thread_state64_get_pc(*from);
    out->sp = (uint64_t)__darwin_arm_thread_state64_get_sp(*from);
#endif
}
