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

/* In a PID namespace of its own, a process has other numbers for its threads than Hangdog has. */
struct hd_thread_numbers {
    /* NULL: both have the same numbers. `own`: from Hangdog's number to the process's. `called`: back. */
    int (*own)(void *arg, int tid);
    int (*called)(void *arg, int tid);
    void *arg;
};

struct hd_stacks {
    struct hd_thread_numbers numbers;
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
 * frames. The functions are read only after the stack was copied. If the thread has moved since
 * (hd_capture_has_moved), adds no function of Python, because that function may be of a later moment. */
uint32_t hd_stacks_read(struct hd_stacks *s, hd_thread_id thread, const struct hd_capture *c,
                        struct hd_walk *walk);

/* Drops modules that the program has unloaded, because another module may have their addresses by now. If
 * `keep` is true, does not drop the data of those modules, because frames of a call tree need the data. */
void hd_stacks_check_modules(struct hd_stacks *s, bool keep);

/* Returns the number that the process itself has for the thread, as its scripts know it; and the thread that
 * has such a number. */
static inline int hd_stacks_own_tid(const struct hd_stacks *s, hd_thread_id thread) {
    int tid = hd_thread_id_tid(thread);
    return s->numbers.own != NULL ? s->numbers.own(s->numbers.arg, tid) : tid;
}
static inline hd_thread_id hd_stacks_thread(const struct hd_stacks *s, int own_tid) {
    bool other = s->numbers.called != NULL && own_tid != 0;
    return hd_thread_id_of((uint64_t)(other ? s->numbers.called(s->numbers.arg, own_tid) : own_tid));
}

/* Returns why the unwinding ended (enum hd_stop). If the unwinding reached the end of a truncated copy of the
 * stack, returns HD_STOP_LIMIT. */
static inline uint8_t hd_stacks_stop(const struct hd_walk *walk, const struct hd_capture *c) {
    return walk->stop == HD_STOP_UNREADABLE && c->truncated ? HD_STOP_LIMIT : walk->stop;
}

#endif
