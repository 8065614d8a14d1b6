/* SPDX-License-Identifier: MIT
 *
 * Counts the frames that a loop presents on the display. These functions run on the watched thread and are
 * wait-free.
 */
#include "base/frame_times.h"
#include "loop/loop.h"

/* Adds a late display frame, and counts as dropped each refresh of the display that came before the frame was
 * ready. A frame that is late by less than half the time between two refreshes does not count as late. The
 * reason: a program that sleeps between frames wakes some milliseconds late. */
static __attribute__((noinline, cold)) void add_late(struct hd_frames *f, uint64_t took_ns) {
    HD_OWNER_ADD(f->dropped, (took_ns + f->period_ns / 2) / f->period_ns - 1);
    HD_OWNER_ADD(f->hitch_ns, took_ns - f->period_ns);
}

void hd_frames_add(struct hd_loop *l, uint64_t waited) {
    struct hd_frames *f = &l->frames;
    uint64_t busy = atomic_load_explicit(&l->busy_ticks, memory_order_relaxed) +
                    atomic_load_explicit(&l->pending_ticks, memory_order_relaxed);
    uint64_t took_ns = hd_ticks_to_ns(busy - f->start_ticks + waited,
                                      atomic_load_explicit(&l->ns_per_tick_32, memory_order_relaxed));
    bool first = atomic_load_explicit(&f->presented, memory_order_relaxed) == 0;
    f->start_ticks = busy;
    if (took_ns == 0) {
        return; /* the program has presented two GUI windows in one turn: they count as one frame */
    }
    HD_OWNER_ADD(f->presented, 1);
    if (__builtin_expect(first, 0)) {
        return;
    }
    HD_OWNER_ADD(f->time_ns, took_ns);
    HD_OWNER_ADD(f->histogram[hd_frame_bucket(took_ns)], 1);
    if (__builtin_expect(took_ns >= f->period_ns + f->period_ns / 2, 0)) {
        add_late(f, took_ns);
    }
}
