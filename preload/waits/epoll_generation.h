/* SPDX-License-Identifier: MIT
 *
 * Counts, for each descriptor number, the epoll instances that have had this number. The kernel reuses the
 * number of a closed instance at once, and shows nothing that identifies an instance. So Hangdog's wrappers
 * count each new instance. Any thread may call these functions; they are wait-free.
 */
#ifndef HD_EPOLL_GENERATION_H
#define HD_EPOLL_GENERATION_H

#include <stdatomic.h>
#include <stdint.h>

/* The number of counters. A descriptor number of this size or above shares its counter with a smaller number.
 * So a new epoll instance may change the counter of another instance, which then looks like two instances.
 * But two instances never look like one. */
#define HD_EPOLL_COUNTERS 1024u
extern _Atomic uint32_t hd_epoll_counter[HD_EPOLL_COUNTERS];

static inline uint32_t hd_epoll_generation(int epfd) {
    return atomic_load_explicit(&hd_epoll_counter[(uint32_t)epfd % HD_EPOLL_COUNTERS], memory_order_relaxed);
}

static inline void hd_epoll_created(int epfd) {
    atomic_fetch_add_explicit(&hd_epoll_counter[(uint32_t)epfd % HD_EPOLL_COUNTERS], 1, memory_order_relaxed);
}

#endif
