/* SPDX-License-Identifier: MIT
 *
 * The life of a hang, as one table of states: idle, running, tracked, hanging. Pure: the clock and the limits
 * are arguments, so that tests drive it without threads. Monitor; no allocation, no calls.
 */
#ifndef HD_TURN_STATE_H
#define HD_TURN_STATE_H

#include "base/types.h"

enum hd_turn_phase {
    HD_TURN_IDLE,    /* the loop waits, or nobody watches */
    HD_TURN_RUNNING, /* a turn younger than two sampling intervals */
    HD_TURN_TRACKED, /* sampled, below the threshold */
    HD_TURN_HANGING, /* at or over the threshold: a hang is open */
    HD_TURN_PHASES,
};

/* What a look asks for, in the order in which it is to be done. */
enum {
    HD_ACT_TRACK = 1,   /* samples begin: set the TRACKED flag, then look again */
    HD_ACT_SAMPLE = 2,  /* take the stack now */
    HD_ACT_OPEN = 4,    /* the threshold passed */
    HD_ACT_END = 8,     /* the hang ended: duration_ns and end_ns are final */
    HD_ACT_FRAME = 32,  /* a tracked turn ended below the threshold, and was a long frame */
    HD_ACT_FORGET = 16, /* a tracked turn ended below the threshold, or was none; an open hang is withdrawn */
};

struct hd_limits {
    uint64_t interval_ns;     /* of samples */
    uint64_t sample_ns;       /* the same, at least: an interval, or more while over the budget */
    uint64_t threshold_ns;    /* a turn that lasts exactly this long is a hang */
    uint64_t frame_ns;        /* one that lasts this long is a long frame; 0: none is */
    uint64_t sample_until_ns; /* age after which a turn is no longer sampled, 0: never */
};

struct hd_look {
    uint64_t now_ns;
    bool running;     /* false: idle, paused, or a block that is meant */
    uint64_t turn_ns; /* start of the running turn */
    uint64_t turn;    /* identity of the running turn (its start in ticks) */
    bool void_turn;   /* the running turn was none: what was taken for its wait is another loop's */
    bool ended_known; /* the tracked turn ended, exactly at ended_ns */
    uint64_t ended_ns;
    uint64_t excluded_ns; /* since the look before: time in which nothing of the process could run */
    bool moved;           /* the thread ran since its last sample, which found it blocked */
    uint64_t changed_ns;  /* when a sample last differed from the one before it (worker's word) */
};

struct hd_turn_state {
    uint8_t state; /* enum hd_turn_phase */
    uint64_t turn, turn_ns;
    uint64_t excluded_ns;
    uint64_t threshold_ns; /* as of the last look at the turn; of an open hang as of when it opened */
    uint64_t frame_ns;     /* the same of the length of a long frame */
    uint64_t sampled_ns;   /* last sample, 0: none */
    uint64_t changed_ns;
    uint64_t step_ns; /* distance of samples now; Fibonacci once the stack has been equal for 2 s */
    uint32_t fib, fib_before;
    bool forced; /* the last sample was taken early because the thread moved, and was equal */
    uint64_t duration_ns, end_ns; /* with HD_ACT_END and HD_ACT_FORGET */
};

/* One look. Returns the actions, HD_ACT_*. */
unsigned hd_turn_state_step(struct hd_turn_state *s, const struct hd_look *look,
                            const struct hd_limits *limits);

/* When to look next (CLOCK_MONOTONIC), given that the loop is not idle. Looks are `look_ns` apart: an
 * interval, or less. */
uint64_t hd_turn_state_next_ns(const struct hd_turn_state *s, uint64_t now_ns, uint64_t look_ns,
                               const struct hd_limits *limits);

static inline uint64_t hd_turn_state_age(const struct hd_turn_state *s, uint64_t now_ns) {
    uint64_t age = now_ns > s->turn_ns ? now_ns - s->turn_ns : 0;
    return age > s->excluded_ns ? age - s->excluded_ns : 0;
}

#endif
