/* SPDX-License-Identifier: MIT
 *
 * An emulated thread in a Mach-O image: registers with known values, a stack, memory that appears when it is
 * used. One instruction at a time.
 */
#ifndef EMULATION_MACHINE_H
#define EMULATION_MACHINE_H

#include <stdbool.h>

#include <unicorn/unicorn.h>

#include "emulation/sample.h"
#include "macho_file.h"

#define STACK_TOP UINT64_C(0x170000000)
#define STACK_BYTES (1u << 20)
#define CALLER_BYTES 512u /* of the callers' frames, at the top of the stack */
#define SCRATCH UINT64_C(0x180000000)
#define SCRATCH_BYTES (1u << 20)

enum machine_state {
    MACHINE_RUNS,
    MACHINE_RETURNED, /* to the function's caller */
    MACHINE_STOPPED,  /* at code that is not followed, or by an error */
};

struct machine {
    uc_engine *uc;
    struct macho_file *file;
    bool arm;
    uint64_t pc;
    uint64_t caller_pc, caller_sp, caller_fp;
    uint64_t outlined;         /* 0, or the address to which the short function that runs now returns */
    uint64_t ra_slot, fp_slot; /* where the function stored its caller's values last; 0: nowhere */
    bool overwritten;          /* the code stored another value there: the truth is lost */
    unsigned mapped;           /* pages that appeared */
    uint8_t code[16];          /* the instruction at pc */
};

bool machine_open(struct machine *m, struct macho_file *file);

/* Sets all registers and the stack for a call of the function at `start`, which returns to `caller`. */
void machine_enter(struct machine *m, uint64_t start, uint64_t caller);

/* Fills in registers, stack and truth. False: the stack is too large for a sample. */
bool machine_sample(struct machine *m, struct sample *s, uint8_t *stack);

/* Returns the return address of the call instruction at pc; 0: it is another instruction. */
uint64_t machine_call(struct machine *m);

/* True if machine_step follows the call at pc. */
bool machine_follows(struct machine *m);

/* Runs the instruction at pc. `taken`: whether a conditional branch jumps. */
enum machine_state machine_step(struct machine *m, bool taken);

/* True if the callers' frames have not changed, and, after a return, the registers have their values again.
 */
bool machine_is_whole(struct machine *m, bool returned);

#endif
