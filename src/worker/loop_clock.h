/* SPDX-License-Identifier: MIT
 *
 * Converts times of a loop's counter to the monitor's clock. On the worker thread.
 */
#ifndef HD_WORKER_LOOP_CLOCK_H
#define HD_WORKER_LOOP_CLOCK_H

#include "loop/loop.h"

/* Returns 0 if `ticks` is 0, or if the worker lost the CPU between its readings of the counter and of the
 * clock. */
static inline uint64_t hd_loop_clock_of(const struct hd_loop *loop, uint64_t ticks) {
    uint64_t before_ns = hd_os_now_ns(), now = hd_loop_ticks(loop), now_ns = hd_os_now_ns();
    uint64_t rate = atomic_load_explicit(&loop->ns_per_tick_32, memory_order_relaxed);
    return ticks != 0 && now_ns - before_ns < HD_NS_PER_MS ? now_ns - hd_ticks_to_ns(now - ticks, rate) : 0;
}

#endif
