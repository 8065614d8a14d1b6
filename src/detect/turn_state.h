/* SPDX-License-Identifier: MIT
 *
 * The life of a hang, as one table of phases: idle, running, tracked, hanging. Pure: the clock and the limits
 * are arguments, so that tests drive the table without threads. Monitor; no allocation, no calls.
 */
#ifndef HD_TURN_STATE_H
#define HD_TURN_STATE_H

#include "base/types.h"

enum hd_turn_phase {
    HD_TURN_IDLE,    /* the loop waits, or watching is paused */
    HD_TURN_RUNNING, /* a turn younger than two sampling intervals */
    HD_TURN_TRACKED, /* sampled, below the threshold */
    HD_TURN_HANGING, /* at or over the threshold: a hang is open */
    HD_TURN_PHASES,
};

/* The actions after a look, in this order. */
enum {
    HD_ACT_TRACK = 1,   /* samples start: set the TRACKED flag, then look again */
    HD_ACT_SAMPLE = 2,  /* take the stack now */
    HD_ACT_OPEN = 4,    /* the threshold passed */
    HD_ACT_END = 8,     /* the hang ended: duration_ns and end_ns are final */
    HD_ACT_FRAME = 32,  /* a tracked turn ended below the threshold, and was a long frame */
    HD_ACT_FORGET = 16, /* a tracked turn ended below the threshold, or an open hang is withdrawn */
};

struct hd_limits {
    uint64_t interval_ns;     /* of samples */
    uint64_t sample_ns;       /* least distance of samples: an interval, or more while over the budget */
    uint64_t threshold_ns;    /* a turn that lasts exactly this long is a hang */
    uint64_t frame_ns;        /* a turn that lasts this long is a long frame; 0: no turn is */
    uint64_t sample_until_ns; /* age after which a turn is no longer sampled; 0: no limit */
};

/* A loop, as one look has seen it. */
struct hd_look {
    uint64_t now_ns;
    bool running;         /* false: idle, paused, or in a block that the program expects */
    uint64_t start_ns;    /* of the running turn */
    uint64_t start_ticks; /* the same by the counter: which turn it is */
    bool void_turn;       /* there was no turn: the wait before it is not the loop's */
    bool ended_known;     /* the tracked turn ended, exactly at ended_ns */
    uint64_t ended_ns;
    uint64_t excluded_ns; /* since the look before: time in which nothing of the process could run */
    bool moved;           /* the last sample found the thread blocked, and it has run since */
    uint64_t changed_ns;  /* when a sample last differed from the one before it, as the worker found */
};

/* The running turn, from one look to the next. */
struct hd_turn_state {
    uint8_t phase; /* enum hd_turn_phase */
    uint64_t start_ticks, start_ns;
    uint64_t excluded_ns;
    uint64_t threshold_ns; /* at the last look; of an open hang: as it opened */
    uint64_t frame_ns;     /* length of a long frame, at the last look */
    uint64_t sampled_ns;   /* last sample, 0: none */
    uint64_t changed_ns;
    uint64_t step_ns;             /* distance of samples now */
    uint32_t fib, fib_before;     /* its Fibonacci numbers, once the stack has been equal for 2 s */
    bool forced;                  /* the last sample came early because the thread moved, and was equal */
    uint64_t duration_ns, end_ns; /* with HD_ACT_END, HD_ACT_FRAME and HD_ACT_FORGET */
};

/* One look. Returns the actions, HD_ACT_*. */
unsigned hd_turn_state_step(struct hd_turn_state *s, const struct hd_look *look,
                            const struct hd_limits *limits);

/* When to look next (CLOCK_MONOTONIC), given that the loop is not idle. Looks are `look_ns` apart: an
 * interval, or less. */
uint64_t hd_turn_state_next_ns(const struct hd_turn_state *s, uint64_t now_ns, uint64_t look_ns,
                               const struct hd_limits *limits);

/* How long the turn has lasted, without the time in which nothing of the process could run. */
static inline uint64_t hd_turn_state_age(const struct hd_turn_state *s, uint64_t now_ns) {
    uint64_t age = now_ns > s->start_ns ? now_ns - s->start_ns : 0;
    return age > s->excluded_ns ? age - s->excluded_ns : 0;
}

#endif
