/* SPDX-License-Identifier: MIT
 *
 * The bounded ring from the monitor to the worker: entries of any size, one writer, one reader, no lock. The
 * writer never waits: when the ring is full it drops samples. No allocation, no calls.
 */
#ifndef HD_RING_H
#define HD_RING_H

#include <stdatomic.h>

#include "base/types.h"
#include "os/os.h"

/* Under a sanitizer every stack is a large one. */
#define HD_RING_BYTES ((HD_SANITIZED ? 256u : 136u) * 1024u)
#define HD_RING_HEAD_BYTES 16u /* of each entry; entries are padded to a multiple of it */
/* Free space for messages that must arrive: the opening and the end of every turn whose start was sent. */
#define HD_RING_RESERVE (4u * 1024u)

struct hd_ring {
    _Atomic uint64_t head; /* bytes written so far; the writer's */
    _Atomic uint64_t tail; /* bytes read so far; the reader's */
    uint64_t dropped;      /* entries for which there was no free space; the writer's */
    _Alignas(16) uint8_t bytes[HD_RING_BYTES];
};

/* Free space for an entry of up to `bytes`, in one piece, while `keep` bytes more stay free. NULL: there is
 * not so much, and `dropped` counts it. The reader sees nothing before the commit of the size that was used.
 * Writer only. */
void *hd_ring_reserve(struct hd_ring *r, uint32_t bytes, uint32_t keep);
void hd_ring_commit(struct hd_ring *r, uint32_t bytes);

/* The free space; the reader may add to it at any moment. Writer only. */
static inline uint32_t hd_ring_free(struct hd_ring *r) {
    return (uint32_t)(HD_RING_BYTES - (atomic_load_explicit(&r->head, memory_order_relaxed) -
                                       atomic_load_explicit(&r->tail, memory_order_acquire)));
}

/* Whether the reader has released all that was committed up to `head`. Writer only. */
static inline bool hd_ring_read_up_to(struct hd_ring *r, uint64_t head) {
    return atomic_load_explicit(&r->tail, memory_order_acquire) >= head;
}

/* The oldest entry, or NULL. It stays until it is released. Reader only. */
const void *hd_ring_peek(struct hd_ring *r, uint32_t *bytes);
void hd_ring_release(struct hd_ring *r);

#endif
