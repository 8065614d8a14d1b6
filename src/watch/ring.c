/* SPDX-License-Identifier: MIT
 *
 * A ring entry is a head of 16 bytes and its content, padded to a multiple of 16 bytes. An entry that does
 * not fit in front of the ring's end goes to the ring's start. In this case a padding entry fills the space
 * in front of the ring's end.
 */
#include "watch/ring.h"

struct head {
    /* the size of the entry with its head and padding; the next entry starts after that many bytes */
    uint32_t whole;
    /* the size of the entry's content; PADDING: the entry has none, and the reader skips it */
    uint32_t bytes;
    uint64_t unused;
};
_Static_assert(sizeof(struct head) == HD_RING_HEAD_BYTES, "as the header says");

#define PADDING UINT32_MAX
#define ALIGN(n) (((n) + 15u) & ~15u)

void *hd_ring_reserve(struct hd_ring *r, uint32_t bytes, uint32_t keep) {
    uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    uint32_t at = (uint32_t)(head % HD_RING_BYTES);
    uint32_t need = ALIGN(bytes) + (uint32_t)sizeof(struct head);
    uint32_t pad = at + need > HD_RING_BYTES ? HD_RING_BYTES - at : 0;
    if (hd_ring_free(r) < (uint64_t)pad + need + keep) {
        r->dropped++;
        return NULL;
    }
    if (pad != 0) {
        *(struct head *)(void *)(r->bytes + at) = (struct head){.whole = pad, .bytes = PADDING};
        atomic_store_explicit(&r->head, head + pad, memory_order_release);
        at = 0;
    }
    return r->bytes + at + sizeof(struct head);
}

void hd_ring_commit(struct hd_ring *r, uint32_t bytes) {
    uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    uint32_t whole = ALIGN(bytes) + (uint32_t)sizeof(struct head);
    *(struct head *)(void *)(r->bytes + head % HD_RING_BYTES) = (struct head){.whole = whole, .bytes = bytes};
    atomic_store_explicit(&r->head, head + whole, memory_order_release);
}

const void *hd_ring_peek(struct hd_ring *r, uint32_t *bytes) {
    for (;;) {
        uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
        if (tail == atomic_load_explicit(&r->head, memory_order_acquire)) {
            return NULL;
        }
        const struct head *h = (const struct head *)(const void *)(r->bytes + tail % HD_RING_BYTES);
        if (h->bytes != PADDING) {
            *bytes = h->bytes;
            return h + 1;
        }
        atomic_store_explicit(&r->tail, tail + h->whole, memory_order_release);
    }
}

void hd_ring_release(struct hd_ring *r) {
    uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    const struct head *h = (const struct head *)(const void *)(r->bytes + tail % HD_RING_BYTES);
    atomic_store_explicit(&r->tail, tail + h->whole, memory_order_release);
}
