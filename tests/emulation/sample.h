/* SPDX-License-Identifier: MIT
 *
 * A sample of an emulated thread, with the truth about its caller. The emulator writes samples to a pipe, and
 * a judge that was built for the CPU of the samples reads them.
 */
#ifndef EMULATION_SAMPLE_H
#define EMULATION_SAMPLE_H

#include <stdint.h>

#define SAMPLE_REGS 33 /* as struct hd_regs */
#define SAMPLE_STACK_MAX (64u * 1024u)

/* Places in the emulated process. */
#define IMAGE_BASE UINT64_C(0x104000000)
#define CALLERS UINT64_C(0x103000000) /* a call of function n ends at CALLERS + 16 * (n + 1) */
#define LEAF UINT64_C(0x102000000)    /* a function that is one return instruction */
#define OUTER UINT64_C(0x101000000)   /* a call of none of the functions ends at OUTER + 16 */

enum sample_kind {
    SAMPLE_INNERMOST, /* at an instruction of the function */
    SAMPLE_CALLER,    /* in LEAF, which the function has called */
    SAMPLE_OUTLINED,  /* in code that the compiler moved out of the function */
    SAMPLE_KINDS
};

struct sample {
    uint32_t kind; /* enum sample_kind */
    uint32_t cpu;
    uint64_t function, function_stop;
    uint32_t number; /* of the function; an odd one is called by a register */
    uint32_t stack_bytes;
    uint64_t stack_addr;
    uint64_t pc, sp, r[SAMPLE_REGS];
    /* the caller of the function */
    uint64_t caller_pc, caller_sp, caller_r[SAMPLE_REGS];
    uint64_t caller_saved; /* mask of registers that the function preserves */
    uint64_t call;         /* not of SAMPLE_INNERMOST: the return address in the function */
};

#endif
