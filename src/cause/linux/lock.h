/* SPDX-License-Identifier: MIT
 *
 * Finds the kind of lock that a thread waits for, and the thread that has the lock. Worker; no allocation.
 *
 * The functions on the stack show the kind. Only glibc's mutexes and read-write locks store their owner. The
 * owner is at a fixed distance from the futex's word, and the capture has copied the words there.
 */
#ifndef HD_LOCK_H
#define HD_LOCK_H

#include "cause/probe_context.h"

/* Fills the lock of a thread that waits in a futex, but for the address, joined_tid and gil. */
void hd_lock_find(struct hd_probe_context *ctx, const struct hd_capture *c, const struct hd_frame *frames,
                  uint32_t count, struct hd_lock_seen *out);

/* The owner of the lock that a thread with these frames waits for; 0: unknown. */
int hd_lock_owner(struct hd_probe_context *ctx, const struct hd_capture *c, const struct hd_frame *frames,
                  uint32_t count);
/* The owner of a lock of a known kind. `is_one`: an earlier capture had an owner, so one that has ended
 * meanwhile counts. */
int hd_lock_owner_now(const struct hd_probe_context *ctx, const struct hd_capture *c, enum hd_lock_kind kind,
                      bool is_one);

#endif
