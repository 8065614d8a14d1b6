/* SPDX-License-Identifier: MIT
 *
 * What the unwinder must know of a machine. Numbers and the hot inline functions come from arch_CPU.h, the
 * rest is defined by arch_CPU.c (only the file of the machine that is built for is compiled). Worker: may run
 * while a hang is on, no allocation.
 */
#ifndef HD_UNWIND_ARCH_H
#define HD_UNWIND_ARCH_H

#include "base/types.h"
#include "image/modules.h"
#include "unwind/expression.h"
#include "unwind/rule.h"

#if defined(__x86_64__)
#include "unwind/arch/arch_x86_64.h"
#elif defined(__aarch64__)
#include "unwind/arch/arch_aarch64.h"
#else
#error "no unwinder for this machine"
#endif

/* True when the bytes before `ra` are a call. *target: where it goes, 0 when that is not in the instruction.
 */
bool hd_arch_after_call(const struct hd_memory *memory, uint64_t ra, uint64_t *target);

/* A frame whose code nothing describes, and that was not called from by the frame below (it is the innermost,
 * or a signal met it): when its instructions show that it has not made its frame yet, or no longer has it,
 * the step is done. Returns 1: *next is the caller; 0: cannot tell. */
int hd_arch_step_bare(const struct hd_memory *memory, const struct hd_stack *stack,
                      const struct hd_regs *regs, struct hd_regs *next);

/* Follows the instructions from pc on to the function's end, as long as they are of the few that crt stubs
 * and epilogues are made of: the step is done as they would do it. Of any frame. As above. */
int hd_arch_step_straight(const struct hd_memory *memory, const struct hd_stack *stack,
                          const struct hd_regs *regs, struct hd_regs *next);

/* As above, when the instructions say nothing: the caller if the innermost function is a leaf without a
 * frame. A guess, the return address is to be checked. */
int hd_arch_step_leaf(const struct hd_stack *stack, const struct hd_regs *regs, struct hd_regs *next);

/* The kernel's return from a signal handler, known by its instructions where nothing describes it. 1: *next
 * is the interrupted context; 0: it is no such code; -EFAULT: it is, and the stack copy does not hold the
 * context. */
int hd_arch_step_signal(const struct hd_memory *memory, const struct hd_stack *stack,
                        const struct hd_regs *regs, struct hd_regs *next);

#endif
