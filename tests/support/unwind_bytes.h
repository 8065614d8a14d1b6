/* SPDX-License-Identifier: MIT
 *
 * A made-up module for the unwinder's tests: call frame information put together byte by byte, at an address
 * of its own, and a module table that knows nothing else.
 */
#ifndef UNWIND_BYTES_H
#define UNWIND_BYTES_H

#include "image/modules.h"

#define BYTES_AT UINT64_C(0x10000) /* address of the first byte */
#define BYTES_MAX 8192u
#define CODE_AT UINT64_C(0x20000) /* code of the module, never read */
#define CODE_END UINT64_C(0x30000)

/* DWARF's numbers on this CPU: stack pointer, frame pointer, return address, a register that a function
 * saves, an argument. The last three are operations: a rule of the saved register and of the frame pointer,
 * and the stack pointer as a value. */
#if defined(__aarch64__)
#define BYTES_SP "\x1f"
#define BYTES_FP "\x1d"
#define BYTES_RA "\x1e"
#define BYTES_SAVED "\x13"
#define BYTES_ARGUMENT "\x05"
#define BYTES_SAVED_AT "\x93"
#define BYTES_FP_AT "\x9d"
#define BYTES_FROM_SP "\x8f"
#else
#define BYTES_SP "\x07"
#define BYTES_FP "\x06"
#define BYTES_RA "\x10"
#define BYTES_SAVED "\x03"
#define BYTES_ARGUMENT "\x05"
#define BYTES_SAVED_AT "\x83"
#define BYTES_FP_AT "\x86"
#define BYTES_FROM_SP "\x77"
#endif

struct unwind_bytes {
    uint8_t data[BYTES_MAX];
    size_t used;
    size_t readable;  /* reads beyond fail; `used` unless a test says less */
    size_t record;    /* where the open record begins */
    uint64_t cie;     /* address of the last CIE */
    uint64_t fde[64]; /* and of all FDEs, with their functions */
    uint64_t start[64];
    unsigned fdes;
    uint64_t hdr;
    struct hd_modules modules;
};

void bytes_init(struct unwind_bytes *b);
uint64_t bytes_here(const struct unwind_bytes *b);
void bytes_put(struct unwind_bytes *b, const void *p, size_t n);
void bytes_u8(struct unwind_bytes *b, unsigned v);
void bytes_u32(struct unwind_bytes *b, uint32_t v);
void bytes_u64(struct unwind_bytes *b, uint64_t v);
void bytes_uleb(struct unwind_bytes *b, uint64_t v);
void bytes_sleb(struct unwind_bytes *b, int64_t v);

/* Records. A CIE of augmentation "zR" or "zRS", pcrel sdata4, code factor 1, data factor -8, return column
 * 16, CFA = rsp+8, return address at CFA-8; an FDE of that CIE. Instructions are put between begin and end.
 */
void bytes_cie(struct unwind_bytes *b, bool signal_frame);
/* The same with this CPU's numbers, for rules that the unwinder applies. */
void bytes_cie_of_cpu(struct unwind_bytes *b, bool signal_frame);
void bytes_fde_begin(struct unwind_bytes *b, uint64_t start, uint32_t length);
void bytes_record_begin(struct unwind_bytes *b);
void bytes_record_end(struct unwind_bytes *b);
/* Terminates .eh_frame and writes .eh_frame_hdr, with a sorted table or without. */
void bytes_finish(struct unwind_bytes *b, bool table);

#endif
