/* SPDX-License-Identifier: MIT
 *
 * DWARF expressions, as far as call frame information uses them (DWARF 5, sections 2.5 and 6.4.2): a bounded
 * stack machine. Worker: may run while a hang is on, no allocation.
 */
#ifndef HD_UNWIND_EXPRESSION_H
#define HD_UNWIND_EXPRESSION_H

#include "base/types.h"
#include "image/modules.h"

#define HD_EXPRESSION_STACK 32u
#define HD_EXPRESSION_STEPS 1000u

/* The bytes that were copied from a thread's stack: the only memory that frames' values come from. */
struct hd_stack {
    const uint8_t *bytes;
    uint64_t address; /* that bytes[0] was copied from */
    uint64_t size;
};

/* Reads n bytes; false when not all of them were copied. */
static inline bool hd_stack_read(const struct hd_stack *s, uint64_t address, void *dst, uint64_t n) {
    uint64_t offset = address - s->address;
    if (offset > s->size || n > s->size - offset) {
        return false;
    }
    __builtin_memcpy(dst, s->bytes + offset, n);
    return true;
}

/* Evaluates the `bytes` at `code`, with `first` pushed before (NULL: nothing). 0; -EINVAL malformed; -EFAULT
 * a dereference left the stack copy; -ENODATA a register is not known: its number goes to *missing. *value is
 * written on success only. */
int hd_expression(const struct hd_memory *memory, uint64_t code, uint32_t bytes, const struct hd_regs *regs,
                  const struct hd_stack *stack, const uint64_t *first, uint64_t *value, uint32_t *missing);

#endif
