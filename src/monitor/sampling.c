/* SPDX-License-Identifier: MIT
 *
 * The monitor checks the ring's free space before it takes a sample, so that no thread is interrupted for a
 * sample that cannot be sent. The check takes the stack's size from the last sample. If the stack has grown
 * since that sample and does not fit, the new sample is lost.
 */
#include "monitor/sampling.h"

#include <string.h>

#include "monitor/send.h"

#define CUT_BYTES_MIN 2048u /* the smallest part of a stack that is worth sending */
/* if a sample's stack has not changed, the monitor wakes the worker for it only this long after the last
 * wake */
#define WAKE_FOR_SAME_NS (5 * HD_NS_PER_S)

/* The ring must have space for two of the largest samples, because padding of almost that size may come
 * before a sample. */
_Static_assert(2 * (HD_STACK_BYTES_MAX + sizeof(struct hd_message) + sizeof(struct hd_capture) + 32) +
                       HD_RING_RESERVE <=
                   HD_RING_BYTES,
               "every sample fits into an empty ring, wherever the last one ended");

static uint32_t sample_bytes(bool in_place, uint32_t stack_bytes) {
    return (uint32_t)(sizeof(struct hd_message) + sizeof(struct hd_capture)) + (in_place ? 0 : stack_bytes);
}

/* Returns how many bytes this sample must leave free in the ring. While the worker is behind, all samples
 * of a turn leave free half of the space that the turn's first sample found free. So later hangs can have
 * samples too. */
static uint32_t keep_free(struct hd_monitor *m, struct hd_look_state *s, bool first) {
    if (first) {
        uint32_t free = hd_ring_free(&m->run->channel.ring);
        s->ring.start_ticks = s->turn.start_ticks;
        s->ring.keep_free = HD_RING_RESERVE + (free > HD_RING_RESERVE ? (free - HD_RING_RESERVE) / 2 : 0);
    }
    return hd_ring_read_up_to(&m->run->channel.ring, m->ring.woken_until) ? HD_RING_RESERVE
                                                                          : s->ring.keep_free;
}

/* Returns free space of the ring for a sample; NULL: there is none. If a turn's first sample does not fit,
 * the function halves the stack of the sample until the sample fits. The inner frames that stay are enough
 * to show which function blocks the loop. */
static struct hd_message *reserve(struct hd_monitor *m, struct hd_capture *taken, uint32_t keep, bool first) {
    for (;;) {
        struct hd_message *head =
            hd_ring_reserve(&m->run->channel.ring, sample_bytes(taken->in_place, taken->stack_bytes), keep);
        if (head != NULL || !first || taken->in_place || taken->stack_bytes < 2 * CUT_BYTES_MIN) {
            return head;
        }
        taken->stack_bytes /= 2;
    }
}

/* Fills the space at `head`, which is reserved in the ring, with a message, the capture, and the stack bytes.
 * Leaves out the stack bytes if the worker reads the stack in place. Commits the space to the ring. */
static void send(struct hd_monitor *m, struct hd_look_state *s, enum hd_message_type type,
                 const struct hd_capture *taken, struct hd_message *head) {
    struct hd_capture *capture = (struct hd_capture *)(void *)(head + 1);
    *capture = *taken;
    if (!taken->in_place && taken->stack_bytes != 0) {
        capture->stack = memcpy(capture + 1, taken->stack, taken->stack_bytes);
    }
    *head = (struct hd_message){.type = (uint8_t)type,
                                .loop = s->watch->index,
                                .generation = s->watch->generation,
                                .at_ns = taken->at_ns,
                                .start_ticks = s->turn.start_ticks,
                                .excluded_ns = s->turn.excluded_ns};
    hd_monitor_send_figures(m, head);
    s->thread.blocked = hd_capture_shows_wait(taken);
    s->thread.sched = taken->sched;
    s->thread.sched_known = hd_sched_known(&taken->sched);
    hd_ring_commit(&m->run->channel.ring, sample_bytes(taken->in_place, taken->stack_bytes));
    uint64_t until = atomic_load_explicit(&m->run->channel.ring.head, memory_order_relaxed);
    m->ring.in_place_until = taken->in_place ? until : m->ring.in_place_until;
    if (!taken->same || m->run->clock.ns - m->ring.woken_ns >= WAKE_FOR_SAME_NS ||
        atomic_load_explicit(&s->watch->worker.wants_equal, memory_order_relaxed)) {
        m->ring.woken_until = until;
        hd_monitor_send_wake(m);
    }
}

/* Copies the stack of the late answer into the ring if there is free space, although the worker could read
 * it in place. The reason: the next sample follows at once. If the answer of that sample is late too, that
 * answer needs the same buffer. */
void hd_sampling_send_late(struct hd_monitor *m, struct hd_look_state *s) {
    struct hd_capture taken;
    if (hd_capture_late(&s->target, &taken) == 0) {
        taken.in_place = hd_ring_free(&m->run->channel.ring) <
                         s->ring.keep_free + 2 * sample_bytes(false, taken.stack_bytes);
        uint32_t bytes = sample_bytes(taken.in_place, taken.stack_bytes);
        struct hd_message *head = hd_ring_reserve(&m->run->channel.ring, bytes, HD_RING_RESERVE);
        if (head != NULL) {
            send(m, s, HD_MSG_LATE, &taken, head);
        }
    }
}

void hd_sampling_take(struct hd_monitor *m, struct hd_look_state *s, enum hd_message_type type) {
    struct hd_ring *ring = &m->run->channel.ring;
    bool first = s->ring.start_ticks != s->turn.start_ticks;
    bool in_place =
        hd_ring_read_up_to(ring, m->ring.in_place_until) && hd_capture_may_be_in_place(&s->target);
    uint32_t keep = keep_free(m, s, first);
    uint32_t stack_bytes = first ? 2 * CUT_BYTES_MIN : s->thread.stack_bytes;
    struct hd_capture taken;
    if (hd_ring_reserve(ring, sample_bytes(in_place || s->thread.blocked, stack_bytes), keep) == NULL) {
        hd_monitor_send_wake(m);
        return;
    }
    if (hd_capture_take(&s->target, in_place, &taken) != 0) {
        return;
    }
    /* the size is stored before the call of reserve(), which may cut the stack */
    if (taken.stack_bytes != 0) {
        s->thread.stack_bytes = taken.stack_bytes;
    }
    struct hd_message *head = reserve(m, &taken, keep, first);
    if (head == NULL) {
        /* forgets this sample, which the worker does not get, so that the next sample does not refer to
         * its stack */
        hd_target_forget_last(&s->target);
        hd_monitor_send_wake(m);
        return;
    }
    send(m, s, type, &taken, head);
}
