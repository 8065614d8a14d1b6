/* SPDX-License-Identifier: MIT
 *
 * What a blocked sample says about the loop, and what the recogniser knows of it. Worker.
 */
#ifndef HD_BLOCKED_H
#define HD_BLOCKED_H

#include "worker/worker.h"

/* The program has stopped the worker and does not wait for it: another worker may have the recogniser. */
static inline bool hd_blocked_is_left(const struct hd_run *r) {
    return atomic_load_explicit(&r->channel.stop.worker_left, memory_order_acquire);
}

/* Sends where the thread is blocked. `depth`: frames of a whole stack, which alone has a distance from the
 * root; else 0. */
void hd_blocked_send(const struct hd_worker *k, const struct hd_turn *h, const struct hd_capture *c,
                     uint32_t depth);

/* True: the thread is in a pool and waits for its turn. */
bool hd_blocked_is_served(const struct hd_worker *k, const struct hd_turn *h, const struct hd_sample *s);

#endif
