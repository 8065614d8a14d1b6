/* SPDX-License-Identifier: MIT
 *
 * The recogniser, as the monitor and the worker call it where the program does not mark its loop (the
 * preload). The recogniser includes neither of them.
 */
#ifndef HD_RECOGNISER_H
#define HD_RECOGNISER_H

#include "loop/loop.h"

struct hd_frame;
struct hd_modules;
struct hd_unwinder;

/* A judgement about a watch's loop. */
struct hd_loop_verdict {
    uint8_t loop; /* index of the watch */
    uint32_t generation;
    enum hd_loop_word {
        HD_LOOP_CERTAIN, /* deferred reports are published */
        HD_LOOP_ANOTHER, /* another wait is the loop's: deferred reports are withdrawn */
    } word;
};

/* The worker's tools, for the judgement of a wait. */
struct hd_stack_tools {
    struct hd_unwinder *unwinder;
    struct hd_modules *modules;
    struct hd_frame *frames; /* a buffer of frames_max */
    uint32_t frames_max;
    int proc_fd; /* /proc/self */
    bool ending; /* the run ends: it is the last judgement */
    void (*send)(void *worker, const struct hd_loop_verdict *verdict);
    void *worker;
};

/* A sample found the loop's thread blocked. */
struct hd_blocked {
    uint64_t sp; /* its stack pointer, in a whole stack of so many frames */
    uint32_t depth;
    bool in_turn;  /* the question: may the thread wait for its turn at the loop's epoll instance? */
    int32_t epoll; /* the answer: at this one; -1: no */
    bool served;   /* another thread serves the loop meanwhile */
};

/* All NULL: the program marks its loop. */
struct hd_recogniser {
    bool (*due)(void *ctx, uint64_t now_ns);                      /* monitor: is there work? */
    void (*judge)(void *ctx, const struct hd_stack_tools *tools); /* worker: does the work */
    /* worker: answers for a blocked sample */
    void (*blocked)(void *ctx, const struct hd_loop *loop, struct hd_blocked *how);
    void *ctx;
};

#endif
