/* SPDX-License-Identifier: MIT
 *
 * Evaluates DWARF expressions of call frame information (DWARF 5, sections 2.5 and 6.4.2) on a stack machine
 * of bounded depth and steps. On the worker thread, also during a hang, so without allocation.
 */
#ifndef HD_UNWIND_EXPRESSION_H
#define HD_UNWIND_EXPRESSION_H

#include "base/types.h"
#include "image/modules.h"

#define HD_EXPRESSION_STACK 32u
#define HD_EXPRESSION_STEPS 1000u

/* A copy of a thread's stack. The unwinder reads saved registers and return addresses from this copy only. */
struct hd_stack {
    const uint8_t *bytes;
    uint64_t address; /* the address in the thread's stack from which bytes[0] was copied */
    uint64_t size;
};

/* Reads n bytes at `address` of the stack. False: the copy lacks some of them. */
static inline bool hd_stack_read(const struct hd_stack *s, uint64_t address, void *dst, uint64_t n) {
    uint64_t offset = address - s->address;
    if (offset > s->size || n > s->size - offset) {
        return false;
    }
    __builtin_memcpy(dst, s->bytes + offset, n);
    return true;
}

/* Evaluates the expression of `bytes` bytes at `code`. Pushes *first before, unless `first` is NULL. Returns
 * 0 and writes *value, or: -EINVAL: malformed; -EFAULT: the expression reads outside of the stack copy;
 * -ENODATA: a register has no known value. On -ENODATA *missing is the register's number. */
int hd_expression(const struct hd_memory *memory, uint64_t code, uint32_t bytes, const struct hd_regs *regs,
                  const struct hd_stack *stack, const uint64_t *first, uint64_t *value, uint32_t *missing);

#endif
