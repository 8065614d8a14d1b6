/* SPDX-License-Identifier: MIT
 *
 * The caller of the innermost frame. Compact unwind information describes bodies of functions only, and the
 * linker's FDEs describe no epilogues. A sample can be at any instruction. So these functions read the code
 * around pc. Both CPUs' functions are compiled on each CPU. On the worker thread, also during a hang, so
 * without allocation.
 */
#ifndef HD_UNWIND_MACHO_INNERMOST_H
#define HD_UNWIND_MACHO_INNERMOST_H

#include "base/memory.h"
#include "unwind/expression.h"
#include "unwind/macho/compact.h"

struct hd_innermost {
    const struct hd_memory *memory; /* code */
    const struct hd_stack *stack;
    const struct hd_regs *regs; /* all registers of the CPU are valid */
    uint64_t start, stop;       /* the function: [start, stop); 0: not known */
    uint8_t kind;               /* enum hd_compact_kind */
    bool stub;                  /* pc is between functions, in code that jumps to other images */
    /* True if a call ends at `ra`. *target: the function that is called, 0: not known. */
    bool (*follows_call)(void *ctx, uint64_t ra, uint64_t *target);
    void *ctx;
};

enum hd_innermost_answer {
    HD_INNERMOST_RULE,   /* the frame is made: the table's rule is right */
    HD_INNERMOST_CALLER, /* *next is the caller */
};

/* Returns an enum hd_innermost_answer. */
int hd_innermost_aarch64(const struct hd_innermost *in, struct hd_regs *next);
int hd_innermost_x86_64(const struct hd_innermost *in, struct hd_regs *next);

/* True if a call ends at pc, of code that the compiler moved out of this function's prologue (-Oz). Then the
 * function is in its prologue, although the innermost frame is another function's. */
bool hd_innermost_is_outlined_aarch64(const struct hd_innermost *in);

#endif
