/* SPDX-License-Identifier: MIT
 *
 * Monitor: pure. The table of a hang's life, and the back-off of its samples.
 */
#include "detect/turn_state.h"

#define EQUAL_BEFORE_BACKOFF_NS (2 * HD_NS_PER_S)
#define STEP_MAX_NS (60 * HD_NS_PER_S)
#define LOOKS_FAR_NS (1 * HD_NS_PER_S)
#define YOUNG_INTERVALS 2

/* A turn as old is tracked. */
static uint64_t old_age(const struct hd_limits *limits) {
    uint64_t age = YOUNG_INTERVALS * limits->interval_ns;
    return age < limits->threshold_ns ? age : limits->threshold_ns;
}

enum event { EV_GONE, EV_YOUNG, EV_OLD, EV_OVER, EVENTS };

struct row {
    uint8_t next;
    uint8_t actions;
};

/* [state][event]. EV_GONE: the turn that the state is about has ended, its duration below the threshold
 * unless hanging (ended() makes sure of the rest). */
static const struct row table[HD_LIFE_STATES][EVENTS] = {
    [HD_LIFE_IDLE] = {[EV_GONE] = {HD_LIFE_IDLE, 0},
                      [EV_YOUNG] = {HD_LIFE_RUNNING, 0},
                      [EV_OLD] = {HD_LIFE_TRACKED, HD_ACT_TRACK | HD_ACT_SAMPLE},
                      [EV_OVER] = {HD_LIFE_HANGING, HD_ACT_TRACK | HD_ACT_SAMPLE | HD_ACT_OPEN}},
    [HD_LIFE_RUNNING] = {[EV_GONE] = {HD_LIFE_IDLE, 0},
                         [EV_YOUNG] = {HD_LIFE_RUNNING, 0},
                         [EV_OLD] = {HD_LIFE_TRACKED, HD_ACT_TRACK | HD_ACT_SAMPLE},
                         [EV_OVER] = {HD_LIFE_HANGING, HD_ACT_TRACK | HD_ACT_SAMPLE | HD_ACT_OPEN}},
    [HD_LIFE_TRACKED] = {[EV_GONE] = {HD_LIFE_IDLE, HD_ACT_FORGET},
                         [EV_YOUNG] = {HD_LIFE_TRACKED, 0}, /* younger again: time was taken off */
                         [EV_OLD] = {HD_LIFE_TRACKED, HD_ACT_SAMPLE},
                         [EV_OVER] = {HD_LIFE_HANGING, HD_ACT_SAMPLE | HD_ACT_OPEN}},
    [HD_LIFE_HANGING] = {[EV_GONE] = {HD_LIFE_IDLE, HD_ACT_END},
                         [EV_YOUNG] = {HD_LIFE_HANGING, 0},
                         [EV_OLD] = {HD_LIFE_HANGING, HD_ACT_SAMPLE},
                         [EV_OVER] = {HD_LIFE_HANGING, HD_ACT_SAMPLE}},
};

static bool same_turn(const struct hd_life *life, const struct hd_look *look) {
    return life->state != HD_LIFE_IDLE && look->running && !look->ended_known && !look->void_turn &&
           look->turn == life->turn;
}

/* The turn is over: how long it was. Without the loop's own word for the end (it was forgotten, or paused),
 * the look is the end. */
static unsigned ended(struct hd_life *life, const struct hd_look *look) {
    life->end_ns = look->ended_known && look->ended_ns >= life->turn_ns ? look->ended_ns : look->now_ns;
    if (look->ended_known && look->excluded_ns > 0 && look->now_ns - look->excluded_ns > life->end_ns) {
        /* the process was stopped after the turn's end: that was none of its time */
        life->excluded_ns -= look->excluded_ns < life->excluded_ns ? look->excluded_ns : life->excluded_ns;
    }
    life->duration_ns = hd_life_age(life, life->end_ns);
    unsigned actions = table[life->state][EV_GONE].actions;
    if (life->state == HD_LIFE_TRACKED && life->duration_ns >= life->threshold_ns) {
        actions = HD_ACT_OPEN | HD_ACT_END; /* over between two looks */
    }
    if (life->state == HD_LIFE_RUNNING && look->ended_known && life->duration_ns >= life->threshold_ns) {
        actions = HD_ACT_END; /* over before it was tracked: it has no samples */
    }
    if (look->void_turn || (life->state == HD_LIFE_HANGING && life->duration_ns < life->threshold_ns)) {
        actions = life->state >= HD_LIFE_TRACKED ? HD_ACT_FORGET : 0; /* known too late to have been none */
    }
    life->state = HD_LIFE_IDLE;
    return actions;
}

static void begin(struct hd_life *life, const struct hd_look *look, const struct hd_limits *limits) {
    /* Lateness of this look belongs to the turn only as far as the turn was there. */
    uint64_t age = look->now_ns > look->turn_ns ? look->now_ns - look->turn_ns : 0;
    *life = (struct hd_life){
        .state = HD_LIFE_IDLE,
        .turn = look->turn,
        .turn_ns = look->turn_ns,
        .excluded_ns = look->excluded_ns < age ? look->excluded_ns : age,
        .changed_ns = look->turn_ns,
        .step_ns = limits->sample_ns,
        .fib = 1,
        .fib_before = 1,
    };
}

/* The distance of samples: one interval until the stack has been equal for 2 s, then 1, 1, 2, 3, 5, 8 ...
 * intervals, never more than a tenth of the time that it has been equal. */
static void back_off(struct hd_life *life, const struct hd_look *look, const struct hd_limits *limits) {
    if (look->changed_ns > life->changed_ns) {
        life->changed_ns = look->changed_ns;
        life->fib = life->fib_before = 1;
        life->step_ns = limits->sample_ns;
        life->forced = false;
        return;
    }
    uint64_t equal_ns = look->now_ns > life->changed_ns ? look->now_ns - life->changed_ns : 0;
    if (equal_ns < EQUAL_BEFORE_BACKOFF_NS) {
        life->step_ns = limits->sample_ns;
        return;
    }
    uint64_t step = life->fib * limits->interval_ns;
    step = step < equal_ns / 10 ? step : equal_ns / 10;
    step = step < STEP_MAX_NS ? step : STEP_MAX_NS;
    life->step_ns = step > limits->sample_ns ? step : limits->sample_ns;
    if (step < STEP_MAX_NS) {
        uint32_t sum = life->fib + life->fib_before;
        life->fib_before = life->fib;
        life->fib = sum;
    }
}

/* Who works to a beat (a timer of 10 ms, a frame) would be met at the same place of it again and again: each
 * sample is up to half an interval early or late, and the next one counts from it. With a tenth it takes
 * dozens of samples to get out of step; a boundary between two functions is missed by 16 ms on average (root
 * of the mean square) and not 14. */
static uint64_t off_the_beat(uint64_t sampled_ns, uint64_t interval_ns) {
    uint64_t mixed = sampled_ns * UINT64_C(0x9e3779b97f4a7c15) >> 32;
    return (mixed * interval_ns >> 32) - interval_ns / 2;
}

static bool sample_due(struct hd_life *life, const struct hd_look *look, const struct hd_limits *limits) {
    if (limits->sample_until_ns != 0 && hd_life_age(life, look->now_ns) > limits->sample_until_ns) {
        return false;
    }
    if (look->changed_ns > life->changed_ns) {
        back_off(life, look, limits);
    }
    /* an eighth of an interval early is due: the next look would be a whole interval late */
    uint64_t slack = limits->interval_ns / 8;
    uint64_t from = life->sampled_ns + off_the_beat(life->sampled_ns, limits->interval_ns);
    if (life->sampled_ns == 0 || look->now_ns + slack >= from + life->step_ns) {
        return true;
    }
    if (look->moved && !life->forced) {
        life->forced =
            true; /* once: a thread that moves at each look and comes to the same stack is annealed too */
        return true;
    }
    return false;
}

unsigned hd_life_look(struct hd_life *life, const struct hd_look *look, const struct hd_limits *limits) {
    unsigned actions = 0;
    if (life->state != HD_LIFE_IDLE) {
        life->excluded_ns += look->excluded_ns;
        if (!same_turn(life, look)) {
            actions = ended(life, look);
            if (actions != 0 || !look->running) {
                return actions; /* a new turn is for the next look, which follows at once */
            }
        }
    }
    if (!look->running) {
        return actions;
    }
    if (life->state == HD_LIFE_IDLE) {
        begin(life, look, limits);
    }
    if (life->state != HD_LIFE_HANGING) {
        life->threshold_ns = limits->threshold_ns; /* whatever the program does next */
    }
    uint64_t age = hd_life_age(life, look->now_ns);
    enum event event = age >= life->threshold_ns ? EV_OVER : age >= old_age(limits) ? EV_OLD : EV_YOUNG;
    const struct row *row = &table[life->state][event];
    actions = row->actions;
    life->state = row->next;
    if ((actions & HD_ACT_SAMPLE) != 0) {
        if (sample_due(life, look, limits)) {
            back_off(life, look, limits);
            life->sampled_ns = look->now_ns;
        } else {
            actions &= ~(unsigned)HD_ACT_SAMPLE;
        }
    }
    return actions;
}

/* The distance of looks: a twentieth of the time that the stack has been equal. */
static uint64_t look_step(const struct hd_life *life, uint64_t now_ns, uint64_t look_ns) {
    uint64_t step = now_ns > life->changed_ns ? (now_ns - life->changed_ns) / 20 : 0;
    step = step < LOOKS_FAR_NS ? step : LOOKS_FAR_NS;
    return step > look_ns ? step : look_ns;
}

uint64_t hd_life_next_ns(const struct hd_life *life, uint64_t now_ns, uint64_t look_ns,
                         const struct hd_limits *limits) {
    if (life->state == HD_LIFE_IDLE || life->state == HD_LIFE_RUNNING) {
        uint64_t old_ns = life->turn_ns + life->excluded_ns + old_age(limits);
        bool sooner = life->state == HD_LIFE_RUNNING && old_ns > now_ns && old_ns < now_ns + look_ns;
        return sooner ? old_ns : now_ns + look_ns;
    }
    uint64_t step = look_step(life, now_ns, look_ns);
    uint64_t next = now_ns + step;
    uint64_t over_ns = life->turn_ns + life->excluded_ns + life->threshold_ns; /* a hang from then on */
    uint64_t from = life->sampled_ns + off_the_beat(life->sampled_ns, limits->interval_ns);
    uint64_t sample = from + life->step_ns;
    /* a grid from the turn's start would bunch after a late look; the next look counts from the one that was
     * due */
    if (step == look_ns && life->sampled_ns != 0 && from + step > now_ns) {
        next = from < now_ns + step / 2 ? from + step : now_ns + step + step / 2;
    }
    if (sample > now_ns && sample < next) {
        next = sample;
    }
    if (step > look_ns && life->state == HD_LIFE_TRACKED && over_ns > now_ns && over_ns < next) {
        next = over_ns;
    }
    return next;
}
