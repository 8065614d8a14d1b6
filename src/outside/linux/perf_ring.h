/* SPDX-License-Identifier: MIT
 *
 * An event of the kernel (perf_event_open) for one thread, and the ring to which the kernel writes its
 * records. Ordinary code.
 */
#ifndef HD_PERF_RING_H
#define HD_PERF_RING_H

#include <linux/perf_event.h>

#include "base/types.h"

struct hd_perf_ring {
    int fd; /* -1: no event */
    uint32_t bytes;
    uint64_t next; /* where the next record begins */
    uint8_t *map;  /* a page of the kernel, then the ring; NULL: no ring */
};

struct hd_perf_record {
    struct perf_event_header head;
    uint64_t body; /* where the rest of the record begins, for hd_perf_ring_copy */
};

/* Opens the event for thread `tid`. `bytes`: of the ring, a power of two; 0: no ring. The times of all
 * records are of CLOCK_MONOTONIC. 0 or a negative errno value. */
int hd_perf_ring_open(struct hd_perf_ring *r, const struct perf_event_attr *attr, int tid, uint32_t bytes);
void hd_perf_ring_close(struct hd_perf_ring *r);

/* The next record. It is gone with the next call. False: the ring has no more. */
bool hd_perf_ring_next(struct hd_perf_ring *r, struct hd_perf_record *record);
/* Copies `n` bytes of a record, from *at on, and moves *at. */
void hd_perf_ring_copy(const struct hd_perf_ring *r, uint64_t *at, void *to, size_t n);

/* Opens an event that counts nothing, so that a later event does not wait some 20 ms for the kernel to switch
 * its hooks on. Returns a descriptor, or a negative errno value: why this process may have no events. */
int hd_perf_keep_on(void);

#endif
