/* SPDX-License-Identifier: MIT
 *
 * Finds the return addresses of a stack from registers and a copy of the stack. Makes no system call itself:
 * struct hd_memory reads all memory, struct hd_modules finds modules. So the same code walks this process, a
 * core file, or a fuzzer's bytes. On the worker thread, also during a hang, so without allocation or lock.
 * One walk at a time uses an hd_unwinder.
 */
#ifndef HD_UNWIND_H
#define HD_UNWIND_H

#include "base/types.h"
#include "image/modules.h"

struct hd_rule; /* unwind/rule.h */

#define HD_RULE_CACHE_ENTRIES 2048u

struct hd_unwinder; /* the caller provides hd_unwinder_bytes() bytes of memory */
size_t hd_unwinder_bytes(void);
void hd_unwinder_init(struct hd_unwinder *u, struct hd_modules *modules);
/* The same for modules that are Mach-O images of this CPU. An unwinder is for one format. */
size_t hd_unwinder_bytes_macho(void);
void hd_unwinder_init_macho(struct hd_unwinder *u, struct hd_modules *modules);
/* Empties the caches. For use after modules were unloaded. */
void hd_unwinder_flush(struct hd_unwinder *u);

struct hd_walk {
    uint32_t count; /* the number of frames written */
    uint32_t cut;   /* the number of frames left out of the middle */
    uint8_t stop;   /* enum hd_stop */
    bool used_scan; /* the walk searched for and found a frame pointer that the registers lack */
    uint64_t root;  /* the start of the outermost function if stop is HD_STOP_ROOT, else 0 */
};

/* Walks the stack from `regs` outwards. frames[0] is the innermost frame. If there are more than `max`
 * frames, those in the middle are left out. `frames` may be NULL if `max` is 0. A walk ends after 65,536
 * frames.
 *
 * `stack` is a copy of `stack_bytes` bytes from address `stack_addr`. The walk reads the stack from this copy
 * only; modules->memory serves unwind tables and code. On x86-64 the copy should start 128 bytes below the
 * stack pointer, because leaf functions save registers there.
 *
 * If the frame pointer is needed and its valid bit is clear, the walk searches the stack for it. A match must
 * lead to an outermost function that starts at `known_root`. Pass hd_walk.root of an earlier walk of the same
 * thread, or 0: then any root counts, and the search is less certain. */
void hd_unwind(struct hd_unwinder *u, const struct hd_regs *regs, const uint8_t *stack, uint64_t stack_addr,
               uint32_t stack_bytes, uint64_t known_root, struct hd_frame *frames, uint32_t max,
               struct hd_walk *out);

#endif
