/* SPDX-License-Identifier: MIT
 *
 * The table of phases. The back-off: while the stack stays equal, samples become rarer.
 */
#include "detect/turn_state.h"

#define EQUAL_BEFORE_BACKOFF_NS (2 * HD_NS_PER_S)
#define STEP_MAX_NS (60 * HD_NS_PER_S)
#define LOOKS_FAR_NS (1 * HD_NS_PER_S)
#define YOUNG_INTERVALS 2

/* The age from which a turn is tracked. */
static uint64_t old_age(const struct hd_limits *limits) {
    uint64_t age = YOUNG_INTERVALS * limits->interval_ns;
    age = age < limits->threshold_ns ? age : limits->threshold_ns;
    /* at most half of a long frame, so that each long frame has a sample; with frame_ns 0 the unsigned 0 - 1
     * sets no limit */
    return age < (limits->frame_ns - 1) / 2 ? age : (limits->frame_ns - 1) / 2;
}

enum event {
    EV_GONE,
    EV_YOUNG,
    EV_OLD,
    EV_OVER,
    EVENTS
};

struct row {
    uint8_t next;
    uint8_t actions;
};

/* The next phase and the actions, by phase and event. EV_GONE: the turn has ended; a turn that was not
 * hanging ended below the threshold. ended() handles the other cases. */
static const struct row table[HD_TURN_PHASES][EVENTS] = {
    [HD_TURN_IDLE] = {[EV_GONE] = {HD_TURN_IDLE, 0},
                      [EV_YOUNG] = {HD_TURN_RUNNING, 0},
                      [EV_OLD] = {HD_TURN_TRACKED, HD_ACT_TRACK | HD_ACT_SAMPLE},
                      [EV_OVER] = {HD_TURN_HANGING, HD_ACT_TRACK | HD_ACT_SAMPLE | HD_ACT_OPEN}},
    [HD_TURN_RUNNING] = {[EV_GONE] = {HD_TURN_IDLE, 0},
                         [EV_YOUNG] = {HD_TURN_RUNNING, 0},
                         [EV_OLD] = {HD_TURN_TRACKED, HD_ACT_TRACK | HD_ACT_SAMPLE},
                         [EV_OVER] = {HD_TURN_HANGING, HD_ACT_TRACK | HD_ACT_SAMPLE | HD_ACT_OPEN}},
    [HD_TURN_TRACKED] = {[EV_GONE] = {HD_TURN_IDLE, HD_ACT_FORGET},
                         [EV_YOUNG] = {HD_TURN_TRACKED, 0}, /* time was excluded: the turn is young again */
                         [EV_OLD] = {HD_TURN_TRACKED, HD_ACT_SAMPLE},
                         [EV_OVER] = {HD_TURN_HANGING, HD_ACT_SAMPLE | HD_ACT_OPEN}},
    [HD_TURN_HANGING] = {[EV_GONE] = {HD_TURN_IDLE, HD_ACT_END},
                         [EV_YOUNG] = {HD_TURN_HANGING, 0},
                         [EV_OLD] = {HD_TURN_HANGING, HD_ACT_SAMPLE},
                         [EV_OVER] = {HD_TURN_HANGING, HD_ACT_SAMPLE}},
};

static bool same_turn(const struct hd_turn_state *s, const struct hd_look *look) {
    return s->phase != HD_TURN_IDLE && look->running && !look->ended_known && !look->void_turn &&
           look->start_ticks == s->start_ticks;
}

/* Ends the turn, sets its duration, and returns the actions. If the marks do not say when the turn ended (it
 * was void, or watching is paused), its end is the time of this look. */
static unsigned ended(struct hd_turn_state *s, const struct hd_look *look) {
    s->end_ns = look->ended_known && look->ended_ns >= s->start_ns ? look->ended_ns : look->now_ns;
    if (look->ended_known && look->excluded_ns > 0 && look->now_ns - look->excluded_ns > s->end_ns) {
        /* the process was stopped after the turn's end, so that time is not excluded from the turn */
        s->excluded_ns -= look->excluded_ns < s->excluded_ns ? look->excluded_ns : s->excluded_ns;
    }
    s->duration_ns = hd_turn_state_age(s, s->end_ns);
    unsigned actions = table[s->phase][EV_GONE].actions;
    if (s->phase == HD_TURN_TRACKED && s->duration_ns >= s->threshold_ns) {
        actions = HD_ACT_OPEN | HD_ACT_END; /* the turn reached the threshold and ended between two looks */
    }
    if (s->phase == HD_TURN_RUNNING && look->ended_known && s->duration_ns >= s->threshold_ns) {
        actions = HD_ACT_END; /* the turn ended before it was tracked, so it has no samples */
    }
    if (look->void_turn || (s->phase == HD_TURN_HANGING && s->duration_ns < s->threshold_ns)) {
        actions = s->phase >= HD_TURN_TRACKED ? HD_ACT_FORGET : 0; /* the turn proves to be no hang */
    } else if (actions == HD_ACT_FORGET && s->frame_ns != 0 && s->duration_ns >= s->frame_ns) {
        actions = HD_ACT_FRAME;
    }
    s->phase = HD_TURN_IDLE;
    return actions;
}

static void start(struct hd_turn_state *s, const struct hd_look *look, const struct hd_limits *limits) {
    /* no more time can be excluded from the turn than it has lasted */
    uint64_t age = look->now_ns > look->start_ns ? look->now_ns - look->start_ns : 0;
    *s = (struct hd_turn_state){
        .phase = HD_TURN_IDLE,
        .start_ticks = look->start_ticks,
        .start_ns = look->start_ns,
        .excluded_ns = look->excluded_ns < age ? look->excluded_ns : age,
        .changed_ns = look->start_ns,
        .step_ns = limits->sample_ns,
        .fib = 1,
        .fib_before = 1,
    };
}

/* Sets the time between samples. It is one interval until the stack has been equal for 2 s. Then it is 1, 1,
 * 2, 3, 5, 8 ... intervals, but at most a tenth of the time that the stack has been equal. */
static void back_off(struct hd_turn_state *s, const struct hd_look *look, const struct hd_limits *limits) {
    if (look->changed_ns > s->changed_ns) {
        s->changed_ns = look->changed_ns;
        s->fib = s->fib_before = 1;
        s->step_ns = limits->sample_ns;
        s->forced = false;
        return;
    }
    uint64_t equal_ns = look->now_ns > s->changed_ns ? look->now_ns - s->changed_ns : 0;
    if (equal_ns < EQUAL_BEFORE_BACKOFF_NS) {
        s->step_ns = limits->sample_ns;
        return;
    }
    uint64_t step = s->fib * limits->interval_ns;
    step = step < equal_ns / 10 ? step : equal_ns / 10;
    step = step < STEP_MAX_NS ? step : STEP_MAX_NS;
    s->step_ns = step > limits->sample_ns ? step : limits->sample_ns;
    if (step < STEP_MAX_NS) {
        uint32_t sum = s->fib + s->fib_before;
        s->fib_before = s->fib;
        s->fib = sum;
    }
}

/* Returns a time shift for the next sample, between minus half and plus half of an interval. A program may
 * work periodically: a timer of 10 ms, or frames. Samples at equal distances would always show the same part
 * of that period. So each sample comes early or late by such a shift, and the next sample counts from this
 * one. With shifts of only a tenth of an interval, dozens of samples in a row would show the same part. The
 * price is small: a boundary between two functions is missed by 16 ms on average (root of the mean square)
 * and not by 14. */
static uint64_t off_the_beat(uint64_t sampled_ns, uint64_t interval_ns) {
    uint64_t mixed = sampled_ns * UINT64_C(0x9e3779b97f4a7c15) >> 32;
    return (mixed * interval_ns >> 32) - interval_ns / 2;
}

static bool sample_due(struct hd_turn_state *s, const struct hd_look *look, const struct hd_limits *limits) {
    if (limits->sample_until_ns != 0 && hd_turn_state_age(s, look->now_ns) > limits->sample_until_ns) {
        return false;
    }
    if (look->changed_ns > s->changed_ns) {
        back_off(s, look, limits);
    }
    /* a sample may come an eighth of an interval early, because the next look would be too late by most of
     * an interval */
    uint64_t slack = limits->interval_ns / 8;
    uint64_t from = s->sampled_ns + off_the_beat(s->sampled_ns, limits->interval_ns);
    if (s->sampled_ns == 0 || look->now_ns + slack >= from + s->step_ns) {
        return true;
    }
    if (look->moved && !s->forced) {
        /* A thread may run between all looks and still have the same stack. The back-off is for such a thread
         * too, so the thread gets an early sample only once. */
        s->forced = true;
        return true;
    }
    return false;
}

unsigned hd_turn_state_step(struct hd_turn_state *s, const struct hd_look *look,
                            const struct hd_limits *limits) {
    unsigned actions = 0;
    if (s->phase != HD_TURN_IDLE) {
        s->excluded_ns += look->excluded_ns;
        if (!same_turn(s, look)) {
            actions = ended(s, look);
            if (actions != 0 || !look->running) {
                return actions; /* the caller looks again at once, for the new turn */
            }
        }
    }
    if (!look->running) {
        return actions;
    }
    if (s->phase == HD_TURN_IDLE) {
        start(s, look, limits);
    }
    if (s->phase != HD_TURN_HANGING) {
        s->threshold_ns = limits->threshold_ns; /* an open hang keeps the threshold that it has reached */
        s->frame_ns = limits->frame_ns;
    }
    uint64_t age = hd_turn_state_age(s, look->now_ns);
    enum event event = age >= s->threshold_ns ? EV_OVER : age >= old_age(limits) ? EV_OLD : EV_YOUNG;
    const struct row *row = &table[s->phase][event];
    actions = row->actions;
    s->phase = row->next;
    if ((actions & HD_ACT_SAMPLE) != 0) {
        if (sample_due(s, look, limits)) {
            back_off(s, look, limits);
            s->sampled_ns = look->now_ns;
        } else {
            actions &= ~(unsigned)HD_ACT_SAMPLE;
        }
    }
    return actions;
}

/* Returns the time between looks at a tracked turn: a twentieth of the time that the stack has been equal.
 * The bounds are `look_ns` and LOOKS_FAR_NS. */
static uint64_t look_step(const struct hd_turn_state *s, uint64_t now_ns, uint64_t look_ns) {
    uint64_t step = now_ns > s->changed_ns ? (now_ns - s->changed_ns) / 20 : 0;
    step = step < LOOKS_FAR_NS ? step : LOOKS_FAR_NS;
    return step > look_ns ? step : look_ns;
}

uint64_t hd_turn_state_next_ns(const struct hd_turn_state *s, uint64_t now_ns, uint64_t look_ns,
                               const struct hd_limits *limits) {
    if (s->phase == HD_TURN_IDLE || s->phase == HD_TURN_RUNNING) {
        uint64_t old_ns = s->start_ns + s->excluded_ns + old_age(limits);
        bool sooner = s->phase == HD_TURN_RUNNING && old_ns > now_ns && old_ns < now_ns + look_ns;
        return sooner ? old_ns : now_ns + look_ns;
    }
    uint64_t step = look_step(s, now_ns, look_ns);
    uint64_t next = now_ns + step;
    uint64_t over_ns = s->start_ns + s->excluded_ns + s->threshold_ns; /* when the turn becomes a hang */
    uint64_t from = s->sampled_ns + off_the_beat(s->sampled_ns, limits->interval_ns);
    uint64_t sample = from + s->step_ns;
    /* The next look counts from the last sample and its time shift. At fixed distances from the turn's
     * start, looks would bunch after a late look. */
    if (step == look_ns && s->sampled_ns != 0 && from + step > now_ns) {
        next = from < now_ns + step / 2 ? from + step : now_ns + step + step / 2;
    }
    if (sample > now_ns && sample < next) {
        next = sample;
    }
    if (step > look_ns && s->phase == HD_TURN_TRACKED && over_ns > now_ns && over_ns < next) {
        next = over_ns;
    }
    return next;
}
