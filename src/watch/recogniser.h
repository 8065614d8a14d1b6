/* SPDX-License-Identifier: MIT
 *
 * Where the loop is not marked but recognised (the preload): what the monitor and the worker ask the
 * recogniser, and what it answers. It knows neither of them.
 */
#ifndef HD_RECOGNISER_H
#define HD_RECOGNISER_H

#include "loop/loop.h"

struct hd_frame;
struct hd_modules;
struct hd_unwinder;

/* What became known of a watch's loop. */
struct hd_loop_verdict {
    uint8_t loop; /* index of the watch */
    uint32_t generation;
    enum hd_loop_word {
        HD_LOOP_CERTAIN, /* reports that wait for that are shown */
        HD_LOOP_ANOTHER, /* another wait is the loop's: reports that wait are of no hang */
    } word;
};

/* What the worker lends for a judgement. */
struct hd_stack_tools {
    struct hd_unwinder *unwinder;
    struct hd_modules *modules;
    struct hd_frame *frames; /* a buffer of so many */
    uint32_t frames_max;
    int proc_fd; /* /proc/self */
    bool ending; /* the run ends: it is the last judgement */
    void (*send)(void *worker, const struct hd_loop_verdict *verdict);
    void *worker;
};

struct hd_blocked {
    uint64_t sp; /* its stack pointer, in a whole stack of so many frames */
    uint32_t depth;
    bool in_turn;  /* asks: may it wait there until it is its turn at the loop's epoll instance? */
    int32_t epoll; /* the answer: at that one; -1: no */
    bool served;   /* another thread waits by it meanwhile */
};

/* All NULL: the loop is marked. */
struct hd_recogniser {
    bool (*due)(void *ctx, uint64_t now_ns);                      /* the monitor: is there something to do? */
    void (*judge)(void *ctx, const struct hd_stack_tools *tools); /* the worker: does it */
    /* the worker: a sample found the loop's thread blocked */
    void (*blocked)(void *ctx, const struct hd_loop *loop, struct hd_blocked *how);
    void *ctx;
};

#endif
