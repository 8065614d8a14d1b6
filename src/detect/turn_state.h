/* SPDX-License-Identifier: MIT
 *
 * The life of a turn as a table of phases: idle, running, tracked, hanging. Pure: the clock and the limits
 * are arguments, so that tests drive the table without threads. On the monitor thread; no allocation, no
 * calls.
 */
#ifndef HD_TURN_STATE_H
#define HD_TURN_STATE_H

#include "base/types.h"

enum hd_turn_phase {
    HD_TURN_IDLE,    /* the loop waits, or watching is paused */
    HD_TURN_RUNNING, /* the turn is younger than two sampling intervals */
    HD_TURN_TRACKED, /* the turn is sampled, and below the threshold */
    HD_TURN_HANGING, /* the turn has reached the threshold: a hang is open */
    HD_TURN_PHASES,
};

/* The actions of the caller after a look, in this order. */
enum {
    HD_ACT_TRACK = 1,   /* samples start: set HD_FLAG_TRACKED, then look again */
    HD_ACT_SAMPLE = 2,  /* take the stack now */
    HD_ACT_OPEN = 4,    /* the turn has reached the threshold */
    HD_ACT_END = 8,     /* the hang has ended: duration_ns and end_ns are final */
    HD_ACT_FRAME = 32,  /* a tracked turn ended below the threshold, and was a long frame */
    HD_ACT_FORGET = 16, /* a tracked turn ended below the threshold, or an open hang is withdrawn */
};

struct hd_limits {
    uint64_t interval_ns; /* the time between samples, as set */
    /* the least time between samples now: interval_ns, or more while the monitor is over its budget */
    uint64_t sample_ns;
    uint64_t threshold_ns;    /* a turn that lasts exactly this long is a hang */
    uint64_t frame_ns;        /* a turn that lasts this long is a long frame; 0: no turn is a long frame */
    uint64_t sample_until_ns; /* the age after which a turn is no longer sampled; 0: no limit */
};

/* A loop, as one look has found it. */
struct hd_look {
    uint64_t now_ns;
    bool running;         /* false: the loop is idle, or paused, or in a block that the program expects */
    uint64_t start_ns;    /* when the running turn started */
    uint64_t start_ticks; /* the ticks of the mark that started the turn: they identify the turn */
    bool void_turn;       /* true: the turn is void, since the wait before it was not the loop's own */
    bool ended_known;     /* true: the turn has ended, exactly at ended_ns */
    uint64_t ended_ns;
    uint64_t excluded_ns; /* time since the look before in which no thread of the process could run */
    bool moved;           /* true: the thread was blocked at the last sample, and has run since then */
    uint64_t changed_ns;  /* when a sample last differed from the one before it, as the worker found */
};

/* The running turn, from one look to the next. */
struct hd_turn_state {
    uint8_t phase; /* enum hd_turn_phase */
    uint64_t start_ticks, start_ns;
    uint64_t excluded_ns;
    /* the threshold at the last look; for an open hang, the threshold that it has reached */
    uint64_t threshold_ns;
    uint64_t frame_ns;   /* hd_limits.frame_ns at the last look */
    uint64_t sampled_ns; /* when the last sample was taken; 0: there is none */
    uint64_t changed_ns;
    uint64_t step_ns;         /* the time between samples now */
    uint32_t fib, fib_before; /* Fibonacci numbers that set step_ns once the stack is equal for 2 s */
    /* true: a sample came early because the thread had run, and no stack has differed since */
    bool forced;
    uint64_t duration_ns, end_ns; /* valid with HD_ACT_END, HD_ACT_FRAME and HD_ACT_FORGET */
};

/* Changes the phase after one look. Returns the caller's actions, HD_ACT_*. */
unsigned hd_turn_state_step(struct hd_turn_state *s, const struct hd_look *look,
                            const struct hd_limits *limits);

/* When to look next at a loop that is not idle, on CLOCK_MONOTONIC. `look_ns`: the least time between looks,
 * which is a sampling interval or less. */
uint64_t hd_turn_state_next_ns(const struct hd_turn_state *s, uint64_t now_ns, uint64_t look_ns,
                               const struct hd_limits *limits);

/* How long the turn has lasted, without the time in which no thread of the process could run. */
static inline uint64_t hd_turn_state_age(const struct hd_turn_state *s, uint64_t now_ns) {
    uint64_t age = now_ns > s->start_ns ? now_ns - s->start_ns : 0;
    return age > s->excluded_ns ? age - s->excluded_ns : 0;
}

#endif
