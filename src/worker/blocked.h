/* SPDX-License-Identifier: MIT
 *
 * Queries the recogniser about a thread that is blocked in a sample. The thread may be in the loop's own
 * wait, or it may wait for work as a thread of a thread pool. On the worker thread.
 */
#ifndef HD_BLOCKED_H
#define HD_BLOCKED_H

#include "cause/probe.h"
#include "turn/turn.h"
#include "watch/run.h"

/* True: the program has stopped this run without waiting for the worker's end. The worker must then not use
 * the recogniser, because the worker of the next run uses it. */
static inline bool hd_blocked_is_left(const struct hd_run *run) {
    return atomic_load_explicit(&run->channel.stop.worker_left, memory_order_acquire);
}

/* Passes the call site of a blocked thread to the recogniser, because the call that blocks it may be the
 * loop's own wait. `depth`: the number of frames of the whole stack. 0: the stack was not read to its end, so
 * nothing is passed. */
void hd_blocked_send(const struct hd_run *run, const struct hd_probe_context *probe,
                     const struct hd_turn *turn, const struct hd_capture *c, uint32_t depth);

/* True: the thread waits for work as a thread of a thread pool, while another thread of the pool serves the
 * loop. */
bool hd_blocked_is_served(const struct hd_run *run, const struct hd_probe_context *probe,
                          const struct hd_turn *turn, const struct hd_sample *sample);

#endif
