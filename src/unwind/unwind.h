/* SPDX-License-Identifier: MIT
 *
 * Registers and bytes in, return addresses out. Pure: all memory is read through struct hd_memory, modules
 * are found through struct hd_modules; the same code walks this process, a core file, or a fuzzer's bytes.
 * May run while a hang is on: no allocation, no lock. Worker only (one walker at a time per hd_unwinder).
 */
#ifndef HD_UNWIND_H
#define HD_UNWIND_H

#include "base/types.h"
#include "image/modules.h"

struct hd_rule; /* unwind/rule.h */

#define HD_RULE_CACHE_ENTRIES 2048u

struct hd_unwinder; /* caller-provided memory of hd_unwinder_bytes() */
size_t hd_unwinder_bytes(void);
void hd_unwinder_init(struct hd_unwinder *u, struct hd_modules *modules);
/* Forgets cached rules: after modules were unloaded. */
void hd_unwinder_flush(struct hd_unwinder *u);

struct hd_walk {
    uint32_t count; /* frames written */
    uint32_t cut;   /* left out of the middle: the first and last max/2 are kept */
    uint8_t stop;   /* enum hd_stop */
    bool used_scan; /* a frame pointer that the capture did not tell was recovered */
    uint64_t root;  /* start of the outermost function, when stop is root */
};

/* Walks from regs. `stack` holds `stack_bytes` copied from `stack_addr`; reads outside of it go to
 * `modules->memory` only for unwind tables and code, never for the stack. On x86-64 the copy should begin 128
 * bytes below the stack pointer: leaf functions save registers there. Registers whose valid bit is clear are
 * recovered by the scan for a chain that ends in `known_root` (0: any root; hd_walk.root of an earlier walk
 * of the same thread is surer). frames[0] is the innermost; `frames` may be NULL when `max` is 0. At most
 * 65,536 frames are met. */
void hd_unwind(struct hd_unwinder *u, const struct hd_regs *regs, const uint8_t *stack, uint64_t stack_addr,
               uint32_t stack_bytes, uint64_t known_root, struct hd_frame *frames, uint32_t max,
               struct hd_walk *out);

#endif
