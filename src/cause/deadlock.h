/* SPDX-License-Identifier: MIT
 *
 * Deadlocks: threads that wait for locks of each other. Pure: no allocation, no system call.
 */
#ifndef HD_DEADLOCK_H
#define HD_DEADLOCK_H

#include "cause/cause.h"

/* Thread `tid` waits for a lock that thread `owner` has. */
struct hd_waits_for {
    int32_t tid, owner;
};

/* Follows the owners from `tid`. Where they form a ring, fills the deadlock of *c and its sentence. False:
 * they form none, or one longer than HD_DEADLOCK_MAX. */
bool hd_cause_find_ring(struct hd_cause *c, const struct hd_waits_for *edges, uint32_t count, int32_t tid);

/* Writes the sentence of the deadlock that *c has: "deadlock: 12 -> 14 -> 12". */
void hd_cause_say_ring(struct hd_cause *c);

#endif
