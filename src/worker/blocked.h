/* SPDX-License-Identifier: MIT
 *
 * Asks the recogniser about a thread that a sample found blocked. On the worker thread.
 */
#ifndef HD_BLOCKED_H
#define HD_BLOCKED_H

#include "cause/probe.h"
#include "turn/turn.h"
#include "watch/run.h"

/* The program has stopped its run without waiting for the worker: another worker may use the recogniser. */
static inline bool hd_blocked_is_left(const struct hd_run *run) {
    return atomic_load_explicit(&run->channel.stop.worker_left, memory_order_acquire);
}

/* Sends the call site of a blocked thread: the wait there may be the loop's own. `depth`: frames of the
 * stack, if it was read down to its root; else 0, and nothing is sent. */
void hd_blocked_send(const struct hd_run *run, const struct hd_probe_context *probe,
                     const struct hd_turn *turn, const struct hd_capture *c, uint32_t depth);

/* True: the thread waits in a pool, and another thread of the pool serves the loop meanwhile. */
bool hd_blocked_is_served(const struct hd_run *run, const struct hd_probe_context *probe,
                          const struct hd_turn *turn, const struct hd_sample *sample);

#endif
