/* SPDX-License-Identifier: MIT
 *
 * Finds the kind of lock that a thread waits for, and the thread that has the lock. Runs on the worker
 * thread; allocates nothing.
 *
 * The functions on the stack show the kind. Only glibc's mutexes and read-write locks store their owner, at a
 * fixed distance from the futex. Each capture copies five words of memory, from the futex on. The owner is
 * one of these words.
 */
#ifndef HD_LOCK_H
#define HD_LOCK_H

#include "cause/probe_context.h"

/* Fills *out for a thread that is blocked in a futex call. The members address, joined and gil stay
 * unchanged; the caller sets them. */
void hd_lock_find(struct hd_probe_context *ctx, const struct hd_capture *c, const struct hd_frame *frames,
                  uint32_t count, struct hd_lock_seen *out);

/* Returns the id of the thread that has the lock; 0: unknown. `frames`: the stack of the thread that waits
 * for the lock. */
int hd_lock_owner(struct hd_probe_context *ctx, const struct hd_capture *c, const struct hd_frame *frames,
                  uint32_t count);
/* Like hd_lock_owner, for a lock of a known kind. `was_owned`: true if an earlier capture found a living
 * owner. In that case the function also returns an owner that has ended since then. */
int hd_lock_owner_now(const struct hd_probe_context *ctx, const struct hd_capture *c, enum hd_lock_kind kind,
                      bool was_owned);

#endif
