/* SPDX-License-Identifier: MIT
 *
 * The session's figures: busy and idle time add up to what the clock says, also after a turn in which the
 * machine was suspended, or the process stopped; and what a watch leaves when it is closed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <time.h>

#include "monitor/totals.h"
#include "monitor/watches.h"

#define MS HD_NS_PER_MS
#define SECOND HD_NS_PER_S
#define HOUR (3600 * SECOND)

static struct hd_run run; /* a tick is a nanosecond */
static struct hd_monitor m = {.run = &run};
static struct hd_record record;
static uint64_t counter, ns;

static struct hd_loop *loop(void) {
    return &run.watches.watch[0].loop;
}

static void pass(uint64_t for_ns) {
    counter += for_ns;
    ns += for_ns;
}

/* A turn begins; the figures are summed as the monitor does when it wakes for it. */
static void begin_turn(void) {
    hd_loop_mark_at(loop(), HANGDOG_AFTER_WAITING, counter);
    hd_clock_pair(&run.clock, counter, ns);
    hd_totals_publish(&m);
}

static void end_turn(void) {
    hd_loop_mark_at(loop(), HANGDOG_BEFORE_WAITING, counter);
}

static void turn(uint64_t for_ns) {
    begin_turn();
    pass(for_ns);
    end_turn();
}

static int begin(void **state) {
    (void)state;
    memset(&run, 0, sizeof run);
    m = (struct hd_monitor){.run = &run};
    memset(&record, 0, sizeof record);
    run.record = &record;
    counter = 100 * HOUR;
    ns = 7 * HOUR;
    hd_clock_start(&run.clock, counter, ns);
    pass(SECOND);
    hd_clock_pair(&run.clock, counter, ns);
    hd_loop_init(loop(), NULL, hd_thread_id_of(1), true, 1ULL << 32, counter, false);
    m.look[0].sums.until_ns = ns;
    run.watches.watch[0].use = HD_WATCH_ON;
    run.watches.slots = 1;
    return 0;
}

/* Ten seconds: ten turns of 100 ms and what lies between them. */
static void live(void) {
    for (unsigned i = 0; i < 10; i++) {
        turn(100 * MS);
        pass(900 * MS);
    }
}

static uint64_t turns_from(unsigned bucket, unsigned to) {
    uint64_t n = 0;
    for (unsigned b = bucket; b < to; b++) {
        n += record.turns.histogram[b];
    }
    return n;
}

static void expect(uint64_t busy_ns, uint64_t idle_ns, uint64_t turns) {
    begin_turn();
    assert_in_range(record.turns.busy_ns, busy_ns - MS, busy_ns + MS);
    assert_in_range(record.turns.idle_ns, idle_ns - MS, idle_ns + MS);
    assert_int_equal(turns_from(0, 28), turns);
    assert_int_equal(turns_from(28, HD_TURN_BUCKETS), 0);
}

static void busy_and_idle_add_up(void **state) {
    (void)state;
    live();
    expect(SECOND, 9 * SECOND, 10);
}

static void a_suspend_between_turns_is_neither(void **state) {
    (void)state;
    live();
    counter += 8 * HOUR;
    live();
    expect(2 * SECOND, 18 * SECOND, 20);
}

/* The turn lasts 3 s by the clock: as the turn that it is, it would be among the long ones. */
static void suspend_in_a_turn(uint64_t then) {
    live();
    begin_turn();
    pass(2 * SECOND);
    counter = then;
    pass(SECOND);
    end_turn();
    begin_turn(); /* a look soon after */
    end_turn();
    pass(SECOND);
    live();
    expect(5 * SECOND, 19 * SECOND, 21);
    live();
    expect(6 * SECOND, 28 * SECOND, 32); /* with the one that was expected to be running */
}

static void a_suspend_in_a_turn_is_not_busy_time(void **state) {
    (void)state;
    suspend_in_a_turn(counter + 8 * HOUR);
}

static void nor_is_one_after_which_the_counter_began_anew(void **state) {
    (void)state;
    suspend_in_a_turn(SECOND);
}

/* A process that is stopped: both clocks run on, and the runner notes for how long. */
static void stop(uint64_t for_ns, uint64_t noted_ns) {
    pass(for_ns);
    record.runner.stopped_ns += noted_ns;
}

static void nor_is_a_stop_between_turns(void **state) {
    (void)state;
    live();
    stop(3 * SECOND, 3 * SECOND);
    live();
    expect(2 * SECOND, 18 * SECOND, 20);
}

static void nor_one_that_is_noted_after_a_look(void **state) {
    (void)state;
    live();
    stop(3 * SECOND, 0);
    turn(100 * MS);
    stop(0, 3 * SECOND);
    pass(900 * MS);
    live();
    expect(2 * SECOND + 100 * MS, 19 * SECOND - 100 * MS, 21);
}

/* The turn is looked at before it ends, and before and after the stop is noted. */
static void a_stop_in_a_turn_is_not_busy_time(void **state) {
    (void)state;
    live();
    pass(60 * SECOND);
    begin_turn();
    pass(100 * MS);
    for (unsigned i = 0; i < 2; i++) {
        stop(3 * SECOND * !i, 3 * SECOND * i);
        hd_clock_pair(&run.clock, counter, ns);
        hd_totals_publish(&m);
        pass(100 * MS);
    }
    end_turn();
    pass(700 * MS);
    live();
    expect(2 * SECOND + 300 * MS, 79 * SECOND - 300 * MS, 20);
}

static unsigned reads;

/* What is read in the midst of a sum: the loop has a turn just then. */
static int clock_with_a_turn(int clock, struct timespec *time) {
    (void)clock;
    if (reads++ == 0) {
        hd_loop_mark_at(loop(), HANGDOG_AFTER_WAITING, counter);
        pass(100 * MS);
        end_turn();
    }
    *time = (struct timespec){.tv_sec = (time_t)(counter / SECOND), .tv_nsec = (long)(counter % SECOND)};
    return 0;
}

static void a_turn_that_ends_while_it_is_summed_is_whole(void **state) {
    (void)state;
    live();
    hd_clock_pair(&run.clock, counter, ns);
    hd_os.clock = clock_with_a_turn;
    hd_totals_publish(&m);
    hd_totals_publish(&m); /* a look soon after */
    hd_os.clock = NULL;
    pass(900 * MS);
    live();
    expect(2 * SECOND + 100 * MS, 19 * SECOND - 100 * MS, 21);
}

static void a_turn_that_lasts_is_not_summed_before_it_ends(void **state) {
    (void)state;
    live();
    begin_turn();
    pass(HOUR);
    hd_clock_pair(&run.clock, counter, ns);
    hd_totals_publish(&m);
    assert_in_range(record.turns.busy_ns + record.turns.idle_ns, 10 * SECOND - MS, 10 * SECOND + MS);
    end_turn();
    pass(SECOND);
    begin_turn();
    assert_in_range(record.turns.busy_ns, HOUR + SECOND - MS, HOUR + SECOND + MS);
    assert_int_equal(turns_from(28, HD_TURN_BUCKETS), 1);
}

static void a_turn_of_many_days_is_among_the_longest(void **state) {
    (void)state;
    turn(100 * 24 * HOUR);
    begin_turn();
    assert_int_equal(turns_from(0, HD_TURN_BUCKETS), 1);
    assert_int_equal(record.turns.histogram[HD_TURN_BUCKETS - 1], 1);
}

/* The loop has told its end, and is unwatched before the monitor looks. */
static void a_hang_that_has_ended_is_no_longer_when_its_watch_is_closed(void **state) {
    (void)state;
    struct hd_watch *w = &run.watches.watch[0];
    begin_turn();
    struct hd_look_state *s = hd_monitor_look_state(&m, w);
    s->turn = (struct hd_turn_state){
        .phase = HD_TURN_HANGING, .start_ticks = counter, .start_ns = ns, .threshold_ns = SECOND};
    s->tracked_ticks = counter;
    s->launched = true;
    atomic_store(&w->loop.flags, HD_FLAG_TRACKED);
    pass(3 * SECOND);
    end_turn();
    pass(2 * SECOND);
    hd_watches_close(&m, w);
    assert_int_equal(record.hangs.count, 1);
    assert_in_range(record.hangs.total_ns, 3 * SECOND - MS, 3 * SECOND + MS);
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup(name, begin)
    const struct CMUnitTest tests[] = {
        CASE(busy_and_idle_add_up),
        CASE(a_suspend_between_turns_is_neither),
        CASE(a_suspend_in_a_turn_is_not_busy_time),
        CASE(nor_is_one_after_which_the_counter_began_anew),
        CASE(nor_is_a_stop_between_turns),
        CASE(nor_one_that_is_noted_after_a_look),
        CASE(a_stop_in_a_turn_is_not_busy_time),
        CASE(a_turn_that_ends_while_it_is_summed_is_whole),
        CASE(a_turn_that_lasts_is_not_summed_before_it_ends),
        CASE(a_turn_of_many_days_is_among_the_longest),
        CASE(a_hang_that_has_ended_is_no_longer_when_its_watch_is_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
