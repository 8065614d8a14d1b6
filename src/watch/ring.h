/* SPDX-License-Identifier: MIT
 *
 * The bounded ring that joins monitor and worker: records of any size, one writer, one reader, no lock. When
 * it is full the writer drops what may be dropped (samples) and never waits. No allocation, no calls.
 */
#ifndef HD_RING_H
#define HD_RING_H

#include <stdatomic.h>

#include "base/types.h"
#include "os/os.h"

/* Under a sanitizer every stack is a large one. */
#define HD_RING_BYTES ((HD_SANITIZED ? 256u : 136u) * 1024u)
#define HD_RING_HEAD_BYTES 16u /* of each record, which are padded to as much */
/* Kept free for what must not be lost: of every turn whose begin the reader was told, one opening and one
 * end. */
#define HD_RING_RESERVE (4u * 1024u)

struct hd_ring {
    _Atomic uint64_t head; /* bytes ever written; the writer's */
    _Atomic uint64_t tail; /* bytes ever read; the reader's */
    uint64_t dropped;      /* the writer's */
    _Alignas(16) uint8_t bytes[HD_RING_BYTES];
};

/* Room for a record of up to `bytes`, in one piece, with `keep` bytes left over; NULL when there is none
 * (counted). Nothing is visible to the reader before the commit of the size that was used (at most `bytes`).
 * Writer only. */
void *hd_ring_reserve(struct hd_ring *r, uint32_t bytes, uint32_t keep);
void hd_ring_commit(struct hd_ring *r, uint32_t bytes);

/* Writer only; the reader may make it more. */
static inline uint32_t hd_ring_free(struct hd_ring *r) {
    return (uint32_t)(HD_RING_BYTES - (atomic_load_explicit(&r->head, memory_order_relaxed) -
                                       atomic_load_explicit(&r->tail, memory_order_acquire)));
}

/* Whether the reader has released all that was committed up to `head`. Writer only. */
static inline bool hd_ring_read_up_to(struct hd_ring *r, uint64_t head) {
    return atomic_load_explicit(&r->tail, memory_order_acquire) >= head;
}

/* The oldest record, or NULL; it stays until released. Reader only. */
const void *hd_ring_peek(struct hd_ring *r, uint32_t *bytes);
void hd_ring_release(struct hd_ring *r);

#endif
