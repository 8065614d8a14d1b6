/* SPDX-License-Identifier: MIT
 *
 * The bounds of a watched thread's own stack, between which plain loads are safe. On the monitor thread.
 */
#ifndef HD_STACK_BOUNDS_H
#define HD_STACK_BOUNDS_H

#include "capture/arch/thread_files.h"
#include "capture/mailbox.h"

struct hd_stack_bounds {
    uint64_t lo, hi; /* the bounds; 0 0: they are not known, so only system calls may read the stack */
};

/* Reads the bounds from the process's file `maps`. For the main thread the bounds are those of the mapping
 * `[stack]`. For another thread the bounds are those of the last mapping in the stack that libc gave it. */
void hd_stack_bounds_find(struct hd_stack_bounds *b, const struct hd_thread_files *f,
                          const struct hd_mailbox *m);

/* Returns whether `sp` lies within the bounds. Reads the bounds again if the main thread's stack may have
 * grown. */
bool hd_stack_bounds_have(struct hd_stack_bounds *b, uint64_t sp, const struct hd_thread_files *f,
                          const struct hd_mailbox *m);

/* Writes the bounds into the mailbox for the handler. */
void hd_stack_bounds_share(const struct hd_stack_bounds *b, struct hd_mailbox *m);

#endif
