/* SPDX-License-Identifier: MIT
 *
 * The functions of the recogniser that the monitor and the worker call. The preload sets these functions,
 * because programs under the preload do not mark their loops. The functions are pointers, so that the
 * recogniser and the two threads include no headers of each other.
 */
#ifndef HD_RECOGNISER_H
#define HD_RECOGNISER_H

#include "loop/loop.h"

struct hd_frame;
struct hd_modules;
struct hd_unwinder;

/* A finding of the recogniser about the loop of a watch. */
struct hd_loop_verdict {
    uint8_t loop; /* the slot of the watch that the verdict is about */
    uint32_t generation;
    enum hd_loop_word {
        HD_LOOP_CERTAIN, /* the loop is certain: the worker publishes its deferred reports */
        HD_LOOP_ANOTHER, /* another wait is the loop's own: the worker withdraws the deferred reports */
    } word;
};

/* The worker's tools for unwinding a stack, with which the recogniser finds the verdict of a wait. */
struct hd_stack_tools {
    struct hd_unwinder *unwinder;
    struct hd_modules *modules;
    struct hd_frame *frames; /* a buffer for `frames_max` stack frames */
    uint32_t frames_max;
    int proc_fd; /* the descriptor of /proc/self */
    bool ending; /* true: Hangdog is stopping, so this is the last call of `judge` */
    void (*send)(void *worker, const struct hd_loop_verdict *verdict);
    void *worker;
};

/* The worker's message to the recogniser about a sample in which the loop's thread was blocked. If `in_turn`
 * is true, the recogniser stores its answer in `epoll`. */
struct hd_blocked {
    uint64_t sp;    /* the thread's stack pointer */
    uint32_t depth; /* the number of stack frames on the thread's whole stack */
    /* True: the worker asks whether the thread may belong to a thread pool in which one thread at a time
     * serves the loop's epoll instance. */
    bool in_turn;
    /* The recogniser's answer: the descriptor of the pool's epoll instance. -1: the recogniser knows no
     * thread pool to which the thread may belong. */
    int32_t epoll;
    /* False in the worker's first message about this blocked thread. If another thread serves the loop while
     * this thread is blocked, the worker sends a second message, in which this member is true. */
    bool served;
    /* The recogniser's answer: the thread is, or may be, in a thread pool's wait for work. */
    bool parked;
};

/* The functions that the recogniser offers to the monitor and the worker. All members are NULL if the program
 * marks its loops itself. */
struct hd_recogniser {
    /* Returns whether there is work for `judge`. On the monitor thread. */
    bool (*due)(void *ctx, uint64_t now_ns);
    /* Finds the verdicts of new waits. On the worker thread. */
    void (*judge)(void *ctx, const struct hd_stack_tools *tools);
    /* Takes the facts about a blocked thread. If how->in_turn is true, stores the answer in how->epoll. On
     * the worker thread. */
    void (*blocked)(void *ctx, const struct hd_loop *loop, struct hd_blocked *how);
    void *ctx;
};

#endif
