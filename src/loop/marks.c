/* SPDX-License-Identifier: MIT
 *
 * The public marks, for a program that marks its loop itself. They run on the watched thread and are
 * wait-free.
 */
#include "loop/loop.h"

/* The public handle hangdog_loop points to a struct hd_watch (watch/watch.h), which starts with the loop. */
static inline struct hd_loop *loop_of(hangdog_loop *loop) {
    return (struct hd_loop *)(void *)loop;
}

void hangdog_before_wait(hangdog_loop *loop) {
    if (loop != NULL) {
        hd_loop_before_wait(loop_of(loop));
    }
}

void hangdog_after_wait(hangdog_loop *loop) {
    if (loop != NULL) {
        hd_loop_after_wait(loop_of(loop));
    }
}

void hangdog_frame(hangdog_loop *loop) {
    if (loop != NULL) {
        hd_loop_turn(loop_of(loop));
        hd_frames_add(loop_of(loop), 0);
    }
}

void hangdog_turn(hangdog_loop *loop) {
    if (loop != NULL) {
        hd_loop_turn(loop_of(loop));
    }
}
