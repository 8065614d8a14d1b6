/* SPDX-License-Identifier: MIT
 *
 * Reads the frames of a copied stack. On the worker thread.
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
        frames[HD_FRAMES_MAX + HD_SCRIPT_FRAMES_MAX]; /* innermost first, of the stack that was read last */
};

/* Unwinds a capture into s->frames. A capture without a stack has no frames; walk->stop says why. */
void hd_stacks_unwind(struct hd_stacks *s, const struct hd_capture *c, struct hd_walk *walk);

/* Unwinds a capture, and adds the functions of scripts. Returns the number of frames. */
uint32_t hd_stacks_read(struct hd_stacks *s, hd_thread_id thread, const struct hd_capture *c,
                        struct hd_walk *walk);

/* Drops modules that were unloaded: another module may have their addresses by now. `keep`: keeps their
 * entries, for a tree has frames in them. */
void hd_stacks_check_modules(struct hd_stacks *s, bool keep);

/* Returns why the walk ended. If the copy was cut off, it ended there, and not at unreadable memory. */
static inline uint8_t hd_stacks_stop(const struct hd_walk *walk, const struct hd_capture *c) {
    return walk->stop == HD_STOP_UNREADABLE && c->truncated ? HD_STOP_LIMIT : walk->stop;
}

#endif
