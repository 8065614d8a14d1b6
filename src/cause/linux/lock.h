/* SPDX-License-Identifier: MIT
 *
 * Finds the kind of lock that a thread waits for, and the thread that has the lock. On the worker thread; no
 * allocation.
 *
 * The functions on the stack show the kind. Only glibc's mutexes and read-write locks store their owner, at a
 * fixed distance from the futex. Each capture copies five words from the futex on, which include the owner.
 */
#ifndef HD_LOCK_H
#define HD_LOCK_H

#include "cause/probe_context.h"

/* Fills *out for a thread that waits in a futex call. The caller sets the address, joined_tid and gil. */
void hd_lock_find(struct hd_probe_context *ctx, const struct hd_capture *c, const struct hd_frame *frames,
                  uint32_t count, struct hd_lock_seen *out);

/* Returns the id of the thread that has the lock; 0: unknown. `frames`: the stack of the thread that
 * waits. */
int hd_lock_owner(struct hd_probe_context *ctx, const struct hd_capture *c, const struct hd_frame *frames,
                  uint32_t count);
/* Like hd_lock_owner, for a lock of a known kind. `was_owned`: an earlier capture found a living owner, so
 * an owner that has ended since then counts too. */
int hd_lock_owner_now(const struct hd_probe_context *ctx, const struct hd_capture *c, enum hd_lock_kind kind,
                      bool was_owned);

#endif
