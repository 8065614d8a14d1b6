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

#include "cause/probe.h"

/* Fills lock_kind, ownable, lock_owner_tid, owned and lock_readers of a thread that waits in a futex. */
void hd_lock_find(struct hd_probe_context *ctx, const struct hd_capture *c, const struct hd_frame *frames,
                  uint32_t count, struct hd_probe *out);

#endif
