/* SPDX-License-Identifier: MIT
 *
 * The waits of the main thread of a program that Hangdog was inserted into. Before and after each wait, the
 * thread itself passes the wait to the rule (recognise/rule.h), and marks the loop's own waits. The kinds of
 * descriptors are not known here. So a kqueue is evidence for the loop, and a wait of poll or select is
 * plain: its number and its total time decide. Once the loop is certain, a wait that repeats the last one
 * costs two marks. No allocation, no lock, no call of the system but the clock's.
 */
#ifndef HD_MAIN_WAITS_H
#define HD_MAIN_WAITS_H

#include "recognise/rule.h"
#include "record/record.h"
#include "watch/recogniser.h"
#include "watch/watch.h"

#define HD_MAIN_WAITS_FRAMES 64u

struct hd_main_waits {
    struct hd_watch *watch; /* NULL: the thread is not watched */
    struct hd_record *record;
    /* The thread's stack. A frame outside of it is of another thread, or of a coroutine. */
    uint64_t stack_lo, stack_hi;
    bool off;  /* the run loop marks its waits itself (run_loop.h) */
    bool busy; /* a wait in a signal handler does not count while the thread is in this code */
    uint64_t order;
    struct hd_last_key {
        uint64_t caller, frame, files;
    } last;                       /* of the last wait that was known as the loop's */
    struct hd_wait_times pending; /* waits that repeated it, which the rule has not counted */
    struct hd_wait_seen loops;    /* that wait */
    uint64_t changes;             /* rule.changes, as the marks follow it */
    struct hd_rule_state rule;
    /* For the worker: grows with each judgement. */
    _Atomic uint32_t judged;
    _Atomic uint32_t others;        /* how often another wait became the loop's */
    uint32_t passed, passed_others; /* the worker's: what it has passed on */
};

/* The descriptors of a wait. */
struct hd_main_files {
    bool kqueue;
    struct hd_set set;
};
void hd_main_files_add(struct hd_main_files *f, int fd);
void hd_main_files_kqueue(struct hd_main_files *f, int kqueue);

struct hd_main_wait {
    bool counted, quick, idle, blocks;
    uint64_t began;
    struct hd_wait_seen seen;
};

/* `watch`, `record`: of the calling thread, with the stack from `stack_lo` to `stack_hi`. */
void hd_main_waits_init(struct hd_main_waits *m, struct hd_watch *watch, struct hd_record *record,
                        uint64_t stack_lo, uint64_t stack_hi);

/* False: the wait of this frame is not one of the watched thread, or does not count. */
static inline bool hd_main_waits_are_of(const struct hd_main_waits *m, const void *frame) {
    uint64_t at = (uint64_t)(uintptr_t)frame;
    return m->watch != NULL && !m->off && at >= m->stack_lo && at < m->stack_hi;
}

/* The two sides of a wait. `frame`: the frame of the function that the program called, with the caller's
 * frame pointer and the return address. `blocks`: false if the timeout is zero. */
void hd_main_waits_begin(struct hd_main_waits *m, struct hd_main_wait *w, const struct hd_main_files *files,
                         bool blocks, const void *frame);
void hd_main_waits_end(struct hd_main_waits *m, struct hd_main_wait *w);

/* From now on the run loop marks its own waits. Other waits are a part of the turns. */
void hd_main_waits_leave(struct hd_main_waits *m);

/* The recogniser of a run: passes on what the thread found. `ctx` is a struct hd_main_waits. */
bool hd_main_waits_due(void *ctx, uint64_t now_ns);
void hd_main_waits_judge(void *ctx, const struct hd_stack_tools *tools);

#endif
