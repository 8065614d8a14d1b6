/* SPDX-License-Identifier: MIT
 *
 * The turns of one thread, as looks show them. A look shows a thread that runs, that is blocked, or that is
 * blocked in its loop's wait. Between two looks a running thread may have been in its wait. So its turn
 * counts from the newest look on, unless a proof says more. A thread that is blocked at two looks, and has
 * not run between them, is in one turn. This turn counts from the first of the looks. Pure.
 */
#ifndef HD_POLL_TURN_H
#define HD_POLL_TURN_H

#include "outside/hook.h"

struct hd_poll_look {
    uint64_t at_ns;
    bool waits;            /* in the loop's own wait */
    bool blocked;          /* off the CPU, here or there */
    struct hd_sched sched; /* all zero: not known, so nothing is proven */
    /* Since this time the thread has surely not been in the loop's wait. 0: not known. */
    uint64_t proven_ns;
    uint64_t blocked_ns; /* when the block began in which the look saw the thread; 0: not known */
};

struct hd_poll_turn {
    struct hd_hook_thread shown;
    struct hd_poll_look last;
    uint64_t waited_ns; /* the last time at which the thread was seen in its loop's wait */
    uint64_t late_ns;   /* a look so long after the one before is late */
};

/* `look_ns`: the time between two looks. */
void hd_poll_turn_init(struct hd_poll_turn *t, uint64_t now_ns, uint64_t look_ns);

/* True: a turn has ended that at least two looks saw. It is in *ended, and may have ended a look earlier.
 * After a late look it ends twice the time between looks after the look before. */
bool hd_poll_turn_look(struct hd_poll_turn *t, const struct hd_poll_look *look, struct hd_hook_turn *ended);

/* True: the thread was off its CPU at the look before, and has not got one since. So it is where it was: a
 * thread that was woken in its wait is still there. */
bool hd_poll_turn_rests(const struct hd_poll_look *before, const struct hd_poll_look *now);

#endif
