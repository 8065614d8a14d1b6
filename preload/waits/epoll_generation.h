/* SPDX-License-Identifier: MIT
 *
 * Counts how many epoll instances have had a descriptor number. The kernel reuses such a number at once, and
 * shows no identity of an instance. So Hangdog's wrappers count each new instance. Any thread; wait-free.
 */
#ifndef HD_EPOLL_GENERATION_H
#define HD_EPOLL_GENERATION_H

#include <stdatomic.h>
#include <stdint.h>

/* Larger descriptor numbers share counters with smaller ones. So one instance may look like two, but two
 * never look like one. */
#define HD_EPOLL_COUNTERS 1024u
extern _Atomic uint32_t hd_epoll_counter[HD_EPOLL_COUNTERS];

static inline uint32_t hd_epoll_generation(int epfd) {
    return atomic_load_explicit(&hd_epoll_counter[(uint32_t)epfd % HD_EPOLL_COUNTERS], memory_order_relaxed);
}

static inline void hd_epoll_created(int epfd) {
    atomic_fetch_add_explicit(&hd_epoll_counter[(uint32_t)epfd % HD_EPOLL_COUNTERS], 1, memory_order_relaxed);
}

#endif
