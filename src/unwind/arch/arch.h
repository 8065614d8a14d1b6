/* SPDX-License-Identifier: MIT
 *
 * The knowledge of the CPU that the unwinder needs. The file arch_CPU.h has the numbers and the hot inline
 * functions. The file arch_CPU.c defines the functions below; a build compiles the file of the target's CPU
 * only. On the worker thread, also during a hang, so without allocation.
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

/* True if a call instruction ends at `ra`. *target: the address that the instruction calls; 0 for an indirect
 * call. */
bool hd_arch_after_call(const struct hd_memory *memory, uint64_t ra, uint64_t *target);

/* True if a stub is at `code`: it jumps to the address in a word of memory. *slot: the word's address. A
 * table may describe a stub as it describes a function. */
bool hd_arch_is_stub(const struct hd_memory *memory, uint64_t code, uint64_t *slot);

/* Steps to the caller of a function that no unwind table describes. The pc must be exact, not a return
 * address: the frame is the innermost one, or a signal interrupted it. Returns 1: the instructions at pc show
 * that the function has no frame yet, or has removed its frame; *next is the caller. Returns 0: they do not.
 */
int hd_arch_step_bare(const struct hd_memory *memory, const struct hd_stack *stack,
                      const struct hd_regs *regs, struct hd_regs *next);

/* Steps to the caller by simulating the instructions from pc to `ret`, for any frame. Returns 1: *next is the
 * caller; 0: there is an instruction that neither epilogues nor crt stubs such as _init use. */
int hd_arch_step_straight(const struct hd_memory *memory, const struct hd_stack *stack,
                          const struct hd_regs *regs, struct hd_regs *next);

/* Guesses that the innermost function is a leaf without a frame, and steps to its caller. For use after the
 * two functions above have returned 0. Returns 1: *next is the caller, and the user must check next->pc;
 * 0: the return address cannot be read. */
int hd_arch_step_leaf(const struct hd_stack *stack, const struct hd_regs *regs, struct hd_regs *next);

/* Steps from the kernel's return code of a signal handler to the interrupted code. Recognises the return code
 * by its instructions, because some systems have no unwind table for it. Returns 1: *next has the interrupted
 * registers; 0: other code is at pc; -EFAULT: the stack copy lacks the saved registers. */
int hd_arch_step_signal(const struct hd_memory *memory, const struct hd_stack *stack,
                        const struct hd_regs *regs, struct hd_regs *next);

#endif
