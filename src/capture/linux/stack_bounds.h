/* SPDX-License-Identifier: MIT
 *
 * Where a watched thread's own stack begins and ends, as far as plain loads of it are safe. Monitor.
 */
#ifndef HD_STACK_BOUNDS_H
#define HD_STACK_BOUNDS_H

#include "capture/linux/thread_files.h"
#include "capture/mailbox.h"

struct hd_stack_bounds {
    uint64_t lo, hi; /* 0 0: not known; then only reads that may fail are safe */
};

/* Reads the bounds from `maps`: of the main thread's stack, or of the part of libc's stack that is one
 * mapping. */
void hd_stack_bounds_find(struct hd_stack_bounds *b, const struct hd_thread_files *f,
                          const struct hd_mailbox *m);

/* Whether `sp` lies in the bounds. Reads them again where the main thread's stack has grown. */
bool hd_stack_bounds_have(struct hd_stack_bounds *b, uint64_t sp, const struct hd_thread_files *f,
                          const struct hd_mailbox *m);

/* Writes the bounds into the mailbox, where the handler reads them. */
void hd_stack_bounds_share(const struct hd_stack_bounds *b, struct hd_mailbox *m);

#endif
