/* SPDX-License-Identifier: MIT
 *
 * A queue of fixed capacity from the monitor, which writes, to the worker, which reads. A ring entry is one
 * message of any size, with its sample if it has one. There is no lock. The monitor is never blocked here:
 * when the ring is full, the monitor drops samples. These functions allocate no memory and make no system
 * call.
 */
#ifndef HD_RING_H
#define HD_RING_H

#include <stdatomic.h>

#include "base/types.h"
#include "os/os.h"

/* The ring is larger under a sanitizer, because a sanitizer makes the stacks in the samples larger. */
#define HD_RING_BYTES ((HD_SANITIZED ? 256u : 135u) * 1024u)
/* the size of a ring entry's head; each entry is padded to a multiple of this size */
#define HD_RING_HEAD_BYTES 16u
/* The space that samples leave free for messages that must arrive: HD_MSG_OPEN, and the message about the end
 * of each followed turn. */
#define HD_RING_RESERVE (4u * 1024u)

struct hd_ring {
    _Atomic uint64_t head; /* the number of bytes written so far; only the writer stores it */
    _Atomic uint64_t tail; /* the number of bytes read so far; only the reader stores it */
    uint64_t dropped;      /* the number of entries that found too little free space; for the writer only */
    _Alignas(16) uint8_t bytes[HD_RING_BYTES];
};

/* Returns space for an entry of up to `bytes`, in one piece. If fewer than `keep` bytes would stay free,
 * returns NULL and counts the entry in `dropped`. The reader sees the entry only after hd_ring_commit, which
 * takes the entry's final size. Writer only. */
void *hd_ring_reserve(struct hd_ring *r, uint32_t bytes, uint32_t keep);
void hd_ring_commit(struct hd_ring *r, uint32_t bytes);

/* Returns the number of free bytes in the ring. The reader may free more at any moment. Writer only. */
static inline uint32_t hd_ring_free(struct hd_ring *r) {
    return (uint32_t)(HD_RING_BYTES - (atomic_load_explicit(&r->head, memory_order_relaxed) -
                                       atomic_load_explicit(&r->tail, memory_order_acquire)));
}

/* Returns whether the reader has released all entries that end at or before `head`, which is a value of
 * hd_ring.head. Writer only. */
static inline bool hd_ring_read_up_to(struct hd_ring *r, uint64_t head) {
    return atomic_load_explicit(&r->tail, memory_order_acquire) >= head;
}

/* Returns the content of the oldest entry and stores its size in *bytes, or returns NULL if the ring is
 * empty. The content stays valid until hd_ring_release. Reader only. */
const void *hd_ring_peek(struct hd_ring *r, uint32_t *bytes);
void hd_ring_release(struct hd_ring *r);

#endif
