/* SPDX-License-Identifier: MIT
 *
 * From the copy of a stack to its frames. Worker.
 */
#ifndef HD_WORKER_STACKS_H
#define HD_WORKER_STACKS_H

#include "capture/capture.h"
#include "script/script.h"
#include "turn/turn.h"
#include "unwind/unwind.h"

struct hd_stacks {
    struct hd_modules modules;
    uint64_t modules_checked_ns;
    struct hd_unwinder *unwinder;
    struct hd_scripts scripts;
    struct hd_frame
        frames[HD_FRAMES_MAX + HD_SCRIPT_FRAMES_MAX]; /* of the stack read last, innermost first */
};

/* Unwinds a capture into s->frames. A capture without a stack has no frames; walk->stop says why. */
void hd_stacks_unwind(struct hd_stacks *s, const struct hd_capture *c, struct hd_walk *walk);

/* The same, with the functions of scripts among the frames. Returns the number of frames. */
uint32_t hd_stacks_read(struct hd_stacks *s, hd_thread_id thread, const struct hd_capture *c,
                        struct hd_walk *walk);

/* Looks for modules that were unloaded, whose addresses another module may have by now. `keep`: a tree still
 * has frames in them. */
void hd_stacks_check_modules(struct hd_stacks *s, bool keep);

/* A walk that ends where the copy was cut off has not met unreadable memory. */
static inline uint8_t hd_stacks_stop(const struct hd_walk *walk, const struct hd_capture *c) {
    return walk->stop == HD_STOP_UNREADABLE && c->truncated ? HD_STOP_LIMIT : walk->stop;
}

#endif
