/* SPDX-License-Identifier: MIT
 *
 * The life of a hang, driven with a fake clock: states, thresholds, back-off, time taken off.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "detect/turn_state.h"

#define MS HD_NS_PER_MS
#define START (1000 * HD_NS_PER_S)

static struct hd_limits limits = {.interval_ns = 50 * MS, .sample_ns = 50 * MS, .threshold_ns = 500 * MS};

struct run {
    struct hd_turn_state state;
    uint64_t now_ns, turn_ns, changed_ns;
    unsigned looks, samples, opens, ends, forgets, tracks;
    bool running;
};

static unsigned look(struct run *r, struct hd_look extra) {
    extra.now_ns = r->now_ns;
    extra.running = r->running;
    extra.start_ns = r->turn_ns;
    extra.start_ticks = r->turn_ns;
    extra.changed_ns = r->changed_ns;
    unsigned actions = hd_turn_state_step(&r->state, &extra, &limits);
    r->looks++;
    r->tracks += (actions & HD_ACT_TRACK) != 0;
    r->samples += (actions & HD_ACT_SAMPLE) != 0;
    r->opens += (actions & HD_ACT_OPEN) != 0;
    r->ends += (actions & HD_ACT_END) != 0;
    r->forgets += (actions & HD_ACT_FORGET) != 0;
    return actions;
}

static struct run begin(void) {
    return (struct run){.now_ns = START, .turn_ns = START, .running = true};
}

/* Looks when the life asks to, until `ns` after the turn's start. */
static void run_for(struct run *r, uint64_t ns) {
    for (uint64_t end = r->turn_ns + ns; r->now_ns < end;) {
        look(r, (struct hd_look){0});
        uint64_t next = hd_turn_state_next_ns(&r->state, r->now_ns, limits.interval_ns, &limits);
        assert_true(next > r->now_ns);
        r->now_ns = next;
    }
    r->now_ns = r->turn_ns + ns;
}

static void end_turn(struct run *r, uint64_t after_ns) {
    r->running = false;
    look(r, (struct hd_look){.ended_known = r->state.phase >= HD_TURN_TRACKED,
                             .ended_ns = r->turn_ns + after_ns});
}

static void a_short_turn_leaves_no_trace(void **state) {
    (void)state;
    struct run r = begin();
    run_for(&r, 60 * MS);
    end_turn(&r, 60 * MS);
    assert_int_equal(r.tracks + r.samples + r.opens + r.ends + r.forgets, 0);
    assert_int_equal(r.state.phase, HD_TURN_IDLE);
}

/* Below the threshold of a hang; from that on it is a hang. A turn that was none is no frame. */
static void a_long_frame_is_known_at_its_end(void **state) {
    (void)state;
    const struct hd_limits usual = limits;
    for (uint64_t frame_ms = 0; frame_ms <= 300; frame_ms += 150) {
        limits.frame_ns = frame_ms * MS;
        for (uint64_t took_ms = 110; took_ms < 700; took_ms += 10) {
            bool hangs = took_ms * MS >= limits.threshold_ns, is_void = took_ms % 20 != 0;
            bool is_long = frame_ms != 0 && took_ms >= frame_ms && !hangs && !is_void;
            struct run r = begin();
            run_for(&r, took_ms * MS);
            r.running = false;
            unsigned actions = look(&r, (struct hd_look){.ended_known = true,
                                                         .ended_ns = r.turn_ns + took_ms * MS,
                                                         .void_turn = is_void});
            assert_int_equal((actions & HD_ACT_FRAME) != 0, is_long);
            assert_int_equal((actions & HD_ACT_FORGET) != 0, !is_long && (!hangs || is_void));
            assert_true(!is_long || (r.samples > 0 && r.state.duration_ns == took_ms * MS));
        }
    }
    limits = usual;
}

/* As far as the interval allows: looks come no closer. */
static void thresholds_below_two_intervals_miss_no_hang(void **state) {
    (void)state;
    const struct hd_limits usual = limits;
    for (uint64_t threshold = 50; threshold <= 100; threshold += 10) {
        limits.threshold_ns = threshold * MS;
        for (uint64_t first = 0; first < 50; first += 7) { /* how old it is at the first look */
            struct run r = begin();
            r.now_ns = r.turn_ns + first * MS;
            run_for(&r, (threshold + 5) * MS);
            end_turn(&r, (threshold + 5) * MS);
            assert_int_equal(r.opens, 1);
            assert_int_equal(r.ends, 1);
            assert_int_equal(r.state.duration_ns, (threshold + 5) * MS);
        }
    }
    limits = usual;
}

static void a_turn_below_the_threshold_is_sampled_and_forgotten(void **state) {
    (void)state;
    struct run r = begin();
    run_for(&r, 400 * MS);
    end_turn(&r, 400 * MS);
    assert_int_equal(r.tracks, 1);
    assert_in_range(r.samples, 6, 7);
    assert_int_equal(r.opens, 0);
    assert_int_equal(r.forgets, 1);
}

static void ends_an_untracked_turn_where_its_end_is_known(void **state) {
    (void)state;
    for (int known = 0; known < 2; known++) {
        struct run r = begin();
        look(&r, (struct hd_look){0});
        r.now_ns += 700 * MS;
        r.running = false;
        look(&r, (struct hd_look){.ended_known = known != 0, .ended_ns = r.turn_ns + 600 * MS});
        assert_int_equal(r.tracks + r.samples + r.opens + r.forgets, 0);
        assert_int_equal(r.ends, known);
        assert_true(known == 0 || r.state.duration_ns == 600 * MS);
    }
}

static void the_first_sample_is_two_intervals_old_to_the_moment(void **state) {
    (void)state;
    struct run r = begin();
    r.now_ns += 30 * MS; /* the first look came when the turn was 30 ms old */
    while (r.samples == 0) {
        look(&r, (struct hd_look){0});
        if (r.samples == 0) {
            r.now_ns = hd_turn_state_next_ns(&r.state, r.now_ns, limits.interval_ns, &limits);
        }
    }
    assert_int_equal(r.now_ns - START, 100 * MS);
}

/* What a turn does in each 10 ms of its own, samples find at all of its places, and 50 ms apart on the whole.
 */
static void samples_are_not_in_step_with_a_beat(void **state) {
    (void)state;
    struct run r = begin();
    unsigned found[10] = {0}, early[5] = {0}, seen = 0;
    for (uint64_t first_ns = 0, samples = 0; samples <= 200; samples += r.samples != seen, seen = r.samples) {
        r.changed_ns = r.now_ns; /* no back-off */
        look(&r, (struct hd_look){0});
        if (r.samples != seen) {
            first_ns = first_ns == 0 ? r.now_ns : first_ns;
            found[r.now_ns / MS % 10]++;
            early[r.now_ns / MS % 50 / 10] += samples < 40;
        }
        if (samples == 200) {
            assert_in_range(r.now_ns - first_ns, 200 * 49 * MS, 200 * 51 * MS);
        }
        r.now_ns = hd_turn_state_next_ns(&r.state, r.now_ns, limits.interval_ns, &limits);
    }
    for (unsigned i = 0; i < 10; i++) {
        assert_in_range(found[i], 8, 40);
    }
    for (unsigned i = 0; i < 5; i++) { /* a beat of the samples' own length, in a hang of two seconds */
        assert_in_range(early[i], 3, 16);
    }
}

static void exactly_the_threshold_is_a_hang(void **state) {
    (void)state;
    struct run r = begin();
    run_for(&r, 490 * MS);
    end_turn(&r, 500 * MS);
    assert_int_equal(r.opens, 1); /* over between two looks */
    assert_int_equal(r.ends, 1);
    assert_int_equal(r.state.duration_ns, 500 * MS);

    r = begin();
    run_for(&r, 490 * MS);
    end_turn(&r, 500 * MS - 1);
    assert_int_equal(r.opens + r.ends, 0);
}

static void a_hang_opens_once_and_ends_with_the_loops_own_time(void **state) {
    (void)state;
    struct run r = begin();
    run_for(&r, 2000 * MS);
    assert_int_equal(r.opens, 1);
    r.now_ns += 3 * MS; /* we are late; the loop told when it ended */
    end_turn(&r, 2000 * MS);
    assert_int_equal(r.ends, 1);
    assert_int_equal(r.state.duration_ns, 2000 * MS);
    assert_in_range(r.samples, 37, 40);
}

static void a_new_turn_ends_the_one_before(void **state) {
    (void)state;
    struct run r = begin();
    run_for(&r, 700 * MS);
    uint64_t first = r.turn_ns;
    r.turn_ns = first + 690 * MS;
    look(&r, (struct hd_look){.ended_known = true, .ended_ns = first + 690 * MS});
    assert_int_equal(r.ends, 1);
    assert_int_equal(r.state.duration_ns, 690 * MS);
    look(&r, (struct hd_look){0});
    assert_int_equal(r.state.phase, HD_TURN_RUNNING);
    assert_int_equal(r.state.start_ns, r.turn_ns);
}

static void equal_stacks_back_off_by_fibonacci_and_a_tenth(void **state) {
    (void)state;
    struct run r = begin();
    uint64_t before = 0;
    uint64_t longest = 0;
    for (uint64_t end = START + 3600 * HD_NS_PER_S; r.now_ns < end;) {
        if ((look(&r, (struct hd_look){0}) & HD_ACT_SAMPLE) != 0) {
            uint64_t gap = before != 0 ? r.now_ns - before : 0;
            /* a sample comes with a look: at most one look later than a tenth of the equal time */
            assert_true(gap <= 50 * MS || gap <= (r.now_ns - START) / 10 + 1000 * MS);
            longest = gap > longest ? gap : longest;
            before = r.now_ns;
        }
        r.now_ns = hd_turn_state_next_ns(&r.state, r.now_ns, limits.interval_ns, &limits);
    }
    assert_true(longest <= 61 * HD_NS_PER_S);
    assert_in_range(r.samples, 60, 170); /* an hour: a few dozen after the first two seconds, not 72,000 */
}

static void over_the_budget_samples_are_fewer_and_looks_are_not(void **state) {
    (void)state;
    struct run usual = begin(), spread = begin();
    run_for(&usual, 2000 * MS);
    limits.sample_ns = 200 * MS;
    run_for(&spread, 2000 * MS);
    /* a look comes with each sample, and a twentieth of the equal time apart without one */
    assert_in_range(spread.looks, usual.looks * 2 / 3, usual.looks + 2);
    assert_int_equal(spread.opens, 1);
    assert_in_range(usual.samples, 37, 40);
    assert_in_range(spread.samples, 9, 10);
    limits.sample_ns = 50 * MS; /* in the midst of the hang */
    spread.changed_ns = spread.now_ns;
    spread.samples = 0;
    run_for(&spread, 3000 * MS);
    assert_in_range(spread.samples, 18, 22); /* each is a little early or late */
}

static void looks_are_close_however_far_apart_samples_are(void **state) {
    (void)state;
    const struct hd_limits usual = limits;
    limits = (struct hd_limits){.interval_ns = 1000 * MS, .sample_ns = 1000 * MS, .threshold_ns = 60 * MS};
    struct run r = begin();
    for (uint64_t end = START + 9000 * MS, next; r.now_ns < end; r.now_ns = next) {
        look(&r, (struct hd_look){0});
        next = hd_turn_state_next_ns(&r.state, r.now_ns, 30 * MS, &limits);
        uint64_t apart_ns = (r.now_ns - START) / 20;
        assert_in_range(next - r.now_ns, 1, apart_ns < 30 * MS ? 45 * MS : apart_ns * 3 / 2);
    }
    assert_in_range(r.samples, 7, 11);
    limits = usual;
}

/* A twentieth of the time that the stack has been equal, 50 ms at least and 1 s at most. */
static void looks_go_apart_while_the_stack_is_equal(void **state) {
    (void)state;
    struct run r = begin();
    unsigned until_10_s = 0;
    for (uint64_t end = START + 60 * HD_NS_PER_S, next; r.now_ns < end; r.now_ns = next) {
        look(&r, (struct hd_look){0});
        uint64_t equal_ns = r.now_ns - START, apart_ns = equal_ns / 20;
        apart_ns = apart_ns < 50 * MS ? 50 * MS : apart_ns < 1000 * MS ? apart_ns : 1000 * MS;
        next = hd_turn_state_next_ns(&r.state, r.now_ns, limits.interval_ns, &limits);
        assert_in_range(next - r.now_ns, 1, apart_ns + apart_ns / 2);
        until_10_s += r.now_ns < START + 10 * HD_NS_PER_S;
    }
    assert_in_range(until_10_s, 60, 110); /* 50 ms apart all the time: 200 */
    r.changed_ns = r.now_ns;
    look(&r, (struct hd_look){0});
    assert_true(hd_turn_state_next_ns(&r.state, r.now_ns, limits.interval_ns, &limits) - r.now_ns <= 75 * MS);
}

static void a_long_turn_is_a_hang_at_its_threshold(void **state) {
    (void)state;
    const struct hd_limits usual = limits;
    limits.threshold_ns = 10 * HD_NS_PER_S + 7 * MS;
    struct run r = begin();
    while (r.opens == 0) {
        look(&r, (struct hd_look){0});
        r.now_ns =
            r.opens != 0 ? r.now_ns : hd_turn_state_next_ns(&r.state, r.now_ns, limits.interval_ns, &limits);
    }
    assert_int_equal(r.now_ns - START, limits.threshold_ns);
    limits = usual;
}

static void a_different_stack_resets_the_back_off(void **state) {
    (void)state;
    struct run r = begin();
    run_for(&r, 30000 * MS);
    unsigned before = r.samples;
    r.changed_ns = r.now_ns;
    uint64_t from = r.now_ns - r.turn_ns;
    run_for(&r, from + 1000 * MS);
    assert_in_range(r.samples - before, 1, 30);
    before = r.samples;
    run_for(&r, from + 2000 * MS);
    assert_true(r.samples - before >= 1);
}

static void a_blocked_thread_that_moves_is_sampled_at_once_but_once(void **state) {
    (void)state;
    struct run r = begin();
    run_for(&r, 20000 * MS);
    unsigned before = r.samples;
    look(&r, (struct hd_look){.moved = true});
    assert_int_equal(r.samples, before + 1);
    r.now_ns += 1 * MS;
    look(&r, (struct hd_look){.moved = true});
    assert_int_equal(r.samples, before + 1); /* it came to the same stack: annealed like a spinning one */
}

static void time_in_which_nothing_ran_is_taken_off(void **state) {
    (void)state;
    struct run r = begin();
    run_for(&r, 300 * MS);
    r.now_ns += 3000 * MS; /* stopped */
    look(&r, (struct hd_look){.excluded_ns = 3000 * MS});
    assert_int_equal(r.opens, 0);
    run_for(&r, 3400 * MS);
    end_turn(&r, 3400 * MS);
    assert_int_equal(r.opens + r.ends, 0); /* 400 ms of its own */

    r = begin();
    run_for(&r, 1000 * MS);
    r.now_ns += 3000 * MS;
    look(&r, (struct hd_look){.excluded_ns = 3000 * MS});
    run_for(&r, 5000 * MS);
    end_turn(&r, 5000 * MS);
    assert_int_equal(r.ends, 1);
    assert_int_equal(r.state.duration_ns, 2000 * MS);
    assert_int_equal(r.state.excluded_ns, 3000 * MS);
}

static void a_stop_after_the_turns_end_is_not_its_own(void **state) {
    (void)state;
    struct run r = begin();
    run_for(&r, 600 * MS);
    r.now_ns += 3000 * MS;
    r.running = false;
    look(&r, (struct hd_look){.excluded_ns = 2990 * MS, .ended_known = true, .ended_ns = START + 605 * MS});
    assert_int_equal(r.ends, 1);
    assert_int_equal(r.state.duration_ns, 605 * MS);
}

static void a_late_first_look_of_a_long_turn_opens_the_hang(void **state) {
    (void)state;
    struct run r = begin();
    r.now_ns += 2000 * MS;
    unsigned actions = look(&r, (struct hd_look){0});
    assert_int_equal(actions, HD_ACT_TRACK | HD_ACT_SAMPLE | HD_ACT_OPEN);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_short_turn_leaves_no_trace),
        cmocka_unit_test(a_long_frame_is_known_at_its_end),
        cmocka_unit_test(thresholds_below_two_intervals_miss_no_hang),
        cmocka_unit_test(a_turn_below_the_threshold_is_sampled_and_forgotten),
        cmocka_unit_test(ends_an_untracked_turn_where_its_end_is_known),
        cmocka_unit_test(the_first_sample_is_two_intervals_old_to_the_moment),
        cmocka_unit_test(samples_are_not_in_step_with_a_beat),
        cmocka_unit_test(exactly_the_threshold_is_a_hang),
        cmocka_unit_test(a_hang_opens_once_and_ends_with_the_loops_own_time),
        cmocka_unit_test(a_new_turn_ends_the_one_before),
        cmocka_unit_test(equal_stacks_back_off_by_fibonacci_and_a_tenth),
        cmocka_unit_test(over_the_budget_samples_are_fewer_and_looks_are_not),
        cmocka_unit_test(looks_go_apart_while_the_stack_is_equal),
        cmocka_unit_test(a_long_turn_is_a_hang_at_its_threshold),
        cmocka_unit_test(looks_are_close_however_far_apart_samples_are),
        cmocka_unit_test(a_different_stack_resets_the_back_off),
        cmocka_unit_test(a_blocked_thread_that_moves_is_sampled_at_once_but_once),
        cmocka_unit_test(time_in_which_nothing_ran_is_taken_off),
        cmocka_unit_test(a_stop_after_the_turns_end_is_not_its_own),
        cmocka_unit_test(a_late_first_look_of_a_long_turn_opens_the_hang),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
