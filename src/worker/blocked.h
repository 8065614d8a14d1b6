/* SPDX-License-Identifier: MIT
 *
 * Queries the recogniser about a thread that a sample found blocked: is its wait the loop's own, or a wait
 * in a thread pool? On the worker thread.
 */
#ifndef HD_BLOCKED_H
#define HD_BLOCKED_H

#include "cause/probe.h"
#include "turn/turn.h"
#include "watch/run.h"

/* True: the program has stopped this run without waiting for the worker's end. The worker must then leave
 * the recogniser to the worker of the next run. */
static inline bool hd_blocked_is_left(const struct hd_run *run) {
    return atomic_load_explicit(&run->channel.stop.worker_left, memory_order_acquire);
}

/* Passes the call site of a blocked thread to the recogniser, because the wait there may be the loop's own.
 * `depth`: the number of frames, if the stack was read down to its outermost frame. 0 if reading stopped
 * before that frame: then nothing is passed. */
void hd_blocked_send(const struct hd_run *run, const struct hd_probe_context *probe,
                     const struct hd_turn *turn, const struct hd_capture *c, uint32_t depth);

/* True: the thread waits in a thread pool, and another thread of the pool serves the loop meanwhile. */
bool hd_blocked_is_served(const struct hd_run *run, const struct hd_probe_context *probe,
                          const struct hd_turn *turn, const struct hd_sample *sample);

#endif
