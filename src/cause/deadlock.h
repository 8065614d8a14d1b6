/* SPDX-License-Identifier: MIT
 *
 * Finds deadlocks: rings of threads in which each thread waits for the next one. Pure: no allocation, no
 * system call.
 */
#ifndef HD_DEADLOCK_H
#define HD_DEADLOCK_H

#include "cause/cause.h"

/* `thread` waits for thread `owner`: for a lock that `owner` has, or for the end of `owner`. */
struct hd_waits_for {
    hd_thread_id thread, owner;
};

/* Follows `edges` from `thread`, owner by owner. If the edges lead into a ring, stores the ring and its
 * sentence in *c. False: there is no ring, or the ring has more than HD_DEADLOCK_MAX threads. */
bool hd_cause_find_ring(struct hd_cause *c, const struct hd_waits_for *edges, uint32_t count,
                        hd_thread_id thread);

/* Writes the sentence of the ring in *c, such as "deadlock: 12 -> 14 -> 12", to c->detail. */
void hd_cause_say_ring(struct hd_cause *c);

#endif
