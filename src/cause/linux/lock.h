/* SPDX-License-Identifier: MIT
 *
 * Worker: which kind of lock a thread waits for, and which thread has it where the lock's memory says so. No
 * allocation.
 *
 * The functions on the stack say the kind. Only glibc's mutexes and read-write locks store their owner: the
 * word that the futex call names has it at a known distance, in the capture's own words.
 */
#ifndef HD_LOCK_H
#define HD_LOCK_H

#include "cause/probe_context.h"

/* The lock of a thread that waits in a futex; fills all but its address, joined_tid and gil. */
void hd_lock_find(struct hd_probe_context *ctx, const struct hd_capture *c, const struct hd_frame *frames,
                  uint32_t count, struct hd_lock_seen *out);

/* The owner of the lock that a thread with these frames waits for, 0: none is claimed. */
int hd_lock_owner(struct hd_probe_context *ctx, const struct hd_capture *c, const struct hd_frame *frames,
                  uint32_t count);
/* The same where the kind is known. `is_one`: an owner was seen before, and may have ended since the capture.
 */
int hd_lock_owner_now(const struct hd_probe_context *ctx, const struct hd_capture *c, enum hd_lock_kind kind,
                      bool is_one);

#endif
