/* SPDX-License-Identifier: MIT
 *
 * The functions of the recogniser that the monitor and the worker call. The preload sets these functions,
 * because its programs do not mark their loops. So the recogniser and the two threads include no headers of
 * each other.
 */
#ifndef HD_RECOGNISER_H
#define HD_RECOGNISER_H

#include "loop/loop.h"

struct hd_frame;
struct hd_modules;
struct hd_unwinder;

/* A finding of the recogniser about the loop of a watch. */
struct hd_loop_verdict {
    uint8_t loop; /* the slot of the watch */
    uint32_t generation;
    enum hd_loop_word {
        HD_LOOP_CERTAIN, /* the loop is certain: the worker publishes its deferred reports */
        HD_LOOP_ANOTHER, /* another wait is the loop's: deferred reports are withdrawn */
    } word;
};

/* The worker's tools with which the recogniser finds the verdict of a wait. */
struct hd_stack_tools {
    struct hd_unwinder *unwinder;
    struct hd_modules *modules;
    struct hd_frame *frames; /* a buffer for `frames_max` frames */
    uint32_t frames_max;
    int proc_fd; /* the descriptor of /proc/self */
    bool ending; /* Hangdog stops, so this is the last call */
    void (*send)(void *worker, const struct hd_loop_verdict *verdict);
    void *worker;
};

/* A question of the worker about a sample that found the loop's thread blocked, and the recogniser's
 * answer. */
struct hd_blocked {
    uint64_t sp;    /* the thread's stack pointer */
    uint32_t depth; /* the number of frames on the thread's whole stack */
    /* the question: may the thread wait until it is the one to serve the loop's epoll instance? */
    bool in_turn;
    int32_t epoll; /* the answer: the descriptor of that epoll instance; -1: no */
    bool served;   /* true in a second call, if another thread serves the loop meanwhile */
};

/* All members are NULL if the program marks its loops itself. */
struct hd_recogniser {
    bool (*due)(void *ctx, uint64_t now_ns); /* whether there is work for `judge`; on the monitor thread */
    /* Finds the verdicts of new waits. On the worker thread. */
    void (*judge)(void *ctx, const struct hd_stack_tools *tools);
    /* Answers the question about a blocked thread. On the worker thread. */
    void (*blocked)(void *ctx, const struct hd_loop *loop, struct hd_blocked *how);
    void *ctx;
};

#endif
