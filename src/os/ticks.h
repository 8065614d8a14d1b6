/* SPDX-License-Identifier: MIT
 *
 * The cheapest clock: the CPU's time-stamp counter. The counter's unit and start depend on the CPU, so the
 * monitor compares the counter with CLOCK_MONOTONIC again and again. Any thread; wait-free;
 * async-signal-safe.
 */
#ifndef HD_TICKS_H
#define HD_TICKS_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)
#include <cpuid.h>

static inline uint64_t hd_ticks_read(void) {
    return __builtin_ia32_rdtsc();
}

/* True: the time-stamp counter has a constant rate in all power states of the CPU. */
static inline bool hd_ticks_invariant(void) {
    enum {
        POWER_LEAF = 0x80000007,
        INVARIANT = 1 << 8
    };
    unsigned a, b, c, d = 0;
    return __get_cpuid(POWER_LEAF, &a, &b, &c, &d) != 0 && (d & INVARIANT) != 0;
}
#elif defined(__aarch64__)
static inline uint64_t hd_ticks_read(void) {
    uint64_t v;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
    return v;
}

static inline bool hd_ticks_invariant(void) {
    return true;
}
#else
#error "no time-stamp counter known for this machine: add it here"
#endif

/* Converts ticks to nanoseconds. `ns_per_tick_32` is the length of a tick in nanoseconds, as a fixed-point
 * number with 32 fraction bits. */
static inline uint64_t hd_ticks_to_ns(uint64_t ticks, uint64_t ns_per_tick_32) {
    return (uint64_t)(((unsigned __int128)ticks * ns_per_tick_32) >> 32);
}

/* Returns a / b as a fixed-point number with 32 fraction bits. b must be below 2^63. */
uint64_t hd_ticks_ratio_32(uint64_t a, uint64_t b);

#endif
