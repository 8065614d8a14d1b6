/* SPDX-License-Identifier: MIT
 *
 * Unwinds copied stacks into frames. On the worker thread.
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
    /* The frames of the stack that the worker has read last, innermost frame first. */
    struct hd_frame frames[HD_FRAMES_MAX + HD_SCRIPT_FRAMES_MAX];
};

/* Unwinds the stack of a capture into s->frames. If the capture has no stack, s->frames gets no frames, and
 * walk->stop says why. */
void hd_stacks_unwind(struct hd_stacks *s, const struct hd_capture *c, struct hd_walk *walk);

/* Unwinds the stack of a capture into s->frames, and adds the functions of scripts. Returns the number of
 * frames. */
uint32_t hd_stacks_read(struct hd_stacks *s, hd_thread_id thread, const struct hd_capture *c,
                        struct hd_walk *walk);

/* Drops modules that the program has unloaded, because another module may have their addresses by now. If
 * `keep` is true, does not drop the data of those modules, because frames of a call tree need the data. */
void hd_stacks_check_modules(struct hd_stacks *s, bool keep);

/* Returns why the unwinding ended (enum hd_stop). If the unwinding reached the end of a truncated copy of the
 * stack, returns HD_STOP_LIMIT. */
static inline uint8_t hd_stacks_stop(const struct hd_walk *walk, const struct hd_capture *c) {
    return walk->stop == HD_STOP_UNREADABLE && c->truncated ? HD_STOP_LIMIT : walk->stop;
}

#endif
