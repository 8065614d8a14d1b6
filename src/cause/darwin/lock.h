/* SPDX-License-Identifier: MIT
 *
 * Finds the kind of lock that a thread waits for, and the thread that has the lock. The call's number and its
 * arguments show the kind. Runs on the worker thread; allocates nothing.
 *
 * An unfair lock's word has the owner's port. A pthread mutex, and a read-write lock that is locked for
 * writing, have the owner's 64-bit id. A thread that joins another one waits at a word of that thread's
 * descriptor (struct pthread_s), which has the other thread's port too. Sources: libplatform's
 * unfair lock, libpthread's types and its join, and the operations of ulock in XNU.
 */
#ifndef HD_CAUSE_DARWIN_LOCK_H
#define HD_CAUSE_DARWIN_LOCK_H

#include "cause/probe_context.h"

/* Fills *out for a thread that is blocked in call `nr`, one of the class HD_WAIT_LOCK that waits for no lock
 * of a file. `c` has the call's arguments, and `frames` the thread's stack. */
void hd_lock_find(struct hd_probe_context *ctx, int32_t nr, const struct hd_capture *c,
                  const struct hd_frame *frames, uint32_t count, struct hd_lock_seen *out);

/* Reads the owner of the lock in *seen again, for a thread that is still blocked in call `nr`. */
void hd_lock_find_again(struct hd_probe_context *ctx, int32_t nr, const struct hd_capture *c,
                        struct hd_lock_seen *seen);

#endif
