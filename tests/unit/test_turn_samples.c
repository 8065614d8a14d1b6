/* SPDX-License-Identifier: MIT
 *
 * For how long each sample of a turn counts, and for which cause. No worker is needed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/syscall.h>

#include "turn/samples.h"

#define INTERVAL (50 * HD_NS_PER_MS)

static struct hd_turns turns;

static int fresh(void **state) {
    (void)state;
    memset(&turns, 0, sizeof turns);
    hd_turns_init(&turns);
    return 0;
}

static struct hd_turn *start(uint64_t at_ns) {
    struct hd_turn *h = hd_turns_start(&turns, 0, 1);
    h->times.start_ns = at_ns;
    return h;
}

/* Seen running at `at_ns`, before it used any CPU time. */
static struct hd_turn *start_running(uint64_t at_ns) {
    struct hd_turn *h = start(0);
    h->samples.first = (struct hd_turn_first){.known = true, .at_ns = at_ns, .sched = {.slices = 1}};
    return h;
}

/* One frame of a function that starts at `function`. */
static uint32_t add_stack(struct hd_turn *h, uint64_t function, uint64_t at_ns) {
    const struct hd_frame frame = {.start = function, .pc = function};
    return hd_turns_add_stack(&turns, h, &frame, 1, at_ns);
}

static void sample(struct hd_turn *h, uint64_t at_ns) {
    struct hd_sample now = {.valid = true, .at_ns = at_ns, .state = HD_RUN_BLOCKED};
    now.leaf = add_stack(h, 1, at_ns);
    hd_samples_add(h, &now, 0);
}

/* It came while the second sample was taken. */
static void a_stop_that_is_known_late_is_nobodys_time(void **state) {
    (void)state;
    struct hd_turn *h = start(INTERVAL);
    sample(h, INTERVAL);
    sample(h, 100 * INTERVAL);
    hd_samples_settle(h, 101 * INTERVAL, 98 * INTERVAL, NULL);
    assert_int_equal(h->samples.timeline.entry[0].for_ns, 2 * INTERVAL);
    assert_int_equal(h->samples.timeline.entry[1].for_ns, 0);
    assert_int_equal(turns.pool.node[h->samples.newest.leaf].time_ns, 2 * INTERVAL);
    assert_int_equal(h->samples.sums.total_ns,
                     2 * INTERVAL); /* the cause's sentence has no more than the hang */
}

/* A stop that no one sample had is taken off all of them, in proportion. */
static void no_part_is_longer_than_the_turn(void **state) {
    (void)state;
    struct hd_turn *h = start(INTERVAL);
    for (unsigned i = 2; i < 8; i++) {
        sample(h, i * INTERVAL);
    }
    hd_samples_settle(h, 8 * INTERVAL, 5 * INTERVAL, NULL);
    h->times.excluded_ns = 5 * INTERVAL;
    h->times.duration_ns = 2 * INTERVAL;
    assert_true(h->samples.tree.time_ns > h->times.duration_ns);
    hd_samples_limit(h);
    uint64_t sum_ns = 0, end_ns = 8 * INTERVAL;
    for (unsigned i = 0; i < h->samples.timeline.count; i++) {
        sum_ns += h->samples.timeline.entry[i].for_ns;
        assert_true(h->samples.timeline.entry[i].at_ns + h->samples.timeline.entry[i].for_ns <= end_ns);
    }
    assert_true(sum_ns <= h->times.duration_ns && sum_ns > 0);
    assert_int_equal(h->samples.tree.time_ns, h->times.duration_ns);
    assert_true(turns.pool.node[h->samples.newest.leaf].time_ns <= h->times.duration_ns);
    assert_true(turns.pool.node[h->samples.newest.leaf].time_ns >= sum_ns);
    h->times.duration_ns = HD_NS_PER_MS; /* it ended before most of its samples */
    h->times.excluded_ns = 0;
    hd_samples_limit(h);
    assert_true(turns.pool.node[h->samples.newest.leaf].time_ns <= HD_NS_PER_MS);
    assert_int_equal(h->samples.timeline.entry[5].at_ns, INTERVAL + HD_NS_PER_MS);
    assert_int_equal(h->samples.timeline.entry[5].for_ns, 0);
}

/* One that is found running. */
static void running(struct hd_turn *h, uint64_t at_ns, struct hd_sched sched) {
    struct hd_sample now = {.valid = true,
                            .at_ns = at_ns,
                            .sched = sched,
                            .state = HD_RUN_RUNNING,
                            .probe = {.state = HD_RUN_RUNNING, .syscall_nr = HD_SYSCALL_NONE}};
    now.leaf = add_stack(h, 1, at_ns);
    hd_samples_add(h, &now, 0);
}

/* A turn of 30 intervals in which it ran for `cpu_ns` of each, and waited `delay_ns` for a processor. */
static struct hd_turn *a_turn(uint64_t cpu_ns, uint64_t delay_ns, uint64_t slices) {
    struct hd_turn *h = start_running(0);
    for (unsigned i = 1; i < 30; i++) {
        running(h, i * INTERVAL, (struct hd_sched){i * cpu_ns, i * delay_ns, 1 + i * slices});
    }
    hd_samples_settle(h, 30 * INTERVAL, 0, &(struct hd_sched){30 * cpu_ns, 30 * delay_ns, 1 + 30 * slices});
    return h;
}

static void assert_cause(const struct hd_turn *h, enum hd_cause_kind kind, const char *detail) {
    struct hd_cause cause;
    hd_cause_decide(&h->samples.sums, &cause);
    assert_string_equal(cause.detail, detail);
    assert_int_equal(cause.kind, kind);
}

/* Every sample meets it while it computes: what it did in between tell its figures alone. */
static void counts_only_cpu_time_as_running(void **state) {
    (void)state;
    assert_cause(a_turn(30 * HD_NS_PER_MS, 0, 5), HD_CAUSE_CPU, "ran on a CPU for 60% of the time");
    assert_cause(a_turn(24 * HD_NS_PER_MS, 0, 2), HD_CAUSE_CPU, "ran on a CPU for 48% of the time");
}

/* Interrupts and a hypervisor take time that its figures leave out. */
static void one_that_never_left_its_processor_ran_all_the_time(void **state) {
    (void)state;
    assert_cause(a_turn(30 * HD_NS_PER_MS, 0, 0), HD_CAUSE_CPU, "ran on a CPU for 100% of the time");
}

static void what_it_waited_for_a_processor_is_not_its_blocking(void **state) {
    (void)state;
    assert_cause(a_turn(10 * HD_NS_PER_MS, 40 * HD_NS_PER_MS, 5), HD_CAUSE_STARVED,
                 "no CPU was free for 80% of the time (load or quota); ran on a CPU for 20%");
}

/* Each sample found it running: the timeline has as much time without a CPU as the cause says. */
static void the_timeline_agrees_with_the_cause(void **state) {
    (void)state;
    const struct hd_turn *h = a_turn(23 * HD_NS_PER_MS, 27 * HD_NS_PER_MS, 5);
    uint64_t starved_ns = 0, all_ns = 0;
    for (unsigned i = 0; i < h->samples.timeline.count; i++) {
        all_ns += h->samples.timeline.entry[i].for_ns;
        starved_ns +=
            h->samples.timeline.entry[i].state == HD_RUN_RUNNABLE ? h->samples.timeline.entry[i].for_ns : 0;
    }
    assert_cause(h, HD_CAUSE_STARVED,
                 "no CPU was free for 54% of the time (load or quota); ran on a CPU for 46%");
    assert_true(starved_ns > all_ns * 27 / 50 - INTERVAL && starved_ns < all_ns * 27 / 50 + INTERVAL);
}

static void what_it_did_in_between_is_what_a_later_sample_finds(void **state) {
    (void)state;
    struct hd_turn *h = start_running(0);
    running(h, INTERVAL, (struct hd_sched){10 * HD_NS_PER_MS, 0, 2});
    running(h, 2 * INTERVAL, (struct hd_sched){20 * HD_NS_PER_MS, 0, 3});
    assert_cause(h, HD_CAUSE_CPU, "ran on a CPU for 20% of the time"); /* so far */
    struct hd_sample now = h->samples.newest;
    now.at_ns = 3 * INTERVAL;
    now.sched = (struct hd_sched){30 * HD_NS_PER_MS, 0, 4};
    now.state = now.probe.state = HD_RUN_BLOCKED;
    now.probe.syscall_nr = SYS_clock_nanosleep;
    hd_samples_add(h, &now, 0);
    hd_samples_settle(h, 4 * INTERVAL, 0, &(struct hd_sched){40 * HD_NS_PER_MS, 0, 5});
    assert_cause(h, HD_CAUSE_SLEEP, "slept in clock_nanosleep (80% of the time)");
}

/* It has not been back since it left its processor. */
static void what_it_waits_for_at_the_next_sample_it_did_not_run_for(void **state) {
    (void)state;
    struct hd_turn *h = start_running(0);
    running(h, INTERVAL, (struct hd_sched){50 * HD_NS_PER_MS, 0, 1});
    struct hd_sample now = h->samples.newest;
    now.at_ns = 3 * INTERVAL;
    now.sched = (struct hd_sched){60 * HD_NS_PER_MS, 0, 1};
    now.state = now.probe.state = HD_RUN_BLOCKED;
    now.probe.syscall_nr = SYS_clock_nanosleep;
    hd_samples_add(h, &now, 0);
    hd_samples_settle(h, 4 * INTERVAL, 0, &(struct hd_sched){60 * HD_NS_PER_MS, 0, 1});
    assert_cause(h, HD_CAUSE_SLEEP, "slept in clock_nanosleep (70% of the time)");
}

/* The turn is first looked at when it is an interval old: of that the figures tell nothing. */
static void before_its_first_figures_it_did_as_after_them(void **state) {
    (void)state;
    struct hd_turn *h = start_running(INTERVAL);
    running(h, 2 * INTERVAL, (struct hd_sched){INTERVAL, 0, 2});
    hd_samples_settle(h, 4 * INTERVAL, 0, &(struct hd_sched){3 * INTERVAL, 0, 3});
    assert_cause(h, HD_CAUSE_CPU, "ran on a CPU for 100% of the time");

    h = start_running(INTERVAL);
    running(h, 2 * INTERVAL, (struct hd_sched){INTERVAL / 5, 0, 2});
    hd_samples_settle(h, 4 * INTERVAL, 0, &(struct hd_sched){INTERVAL / 5 + 2 * INTERVAL, 0, 3});
    assert_cause(h, HD_CAUSE_CPU, "ran on a CPU for 60% of the time");
}

/* One of a thread that is in the kernel, and gives no answer. */
static void unanswered(struct hd_turn *h, uint64_t at_ns) {
    struct hd_sample now = {.valid = true,
                            .at_ns = at_ns,
                            .state = HD_RUN_RUNNING,
                            .way = HD_WAY_KERNEL,
                            .stop = HD_STOP_NO_ANSWER};
    now.leaf = hd_turns_add_stack(&turns, h, NULL, 0, at_ns);
    hd_samples_add(h, &now, 0);
}

static void answer(struct hd_turn *h, uint64_t requested_ns) {
    struct hd_sample late = {
        .at_ns = requested_ns, .way = HD_WAY_SIGNALLED, .stop = HD_STOP_ROOT, .depth = 1};
    late.leaf = add_stack(h, 2, requested_ns);
    hd_samples_answer(h, &late);
}

/* From the turn's begin, where that had no other. */
static void gives_a_late_answer_to_all_samples_since_the_request(void **state) {
    (void)state;
    struct hd_turn *h = start(0);
    unanswered(h, 3 * INTERVAL);
    unanswered(h, 4 * INTERVAL);
    answer(h, 2 * INTERVAL);
    assert_int_equal(h->samples.timeline.entry[0].way, HD_WAY_SIGNALLED);
    assert_int_equal(h->samples.timeline.entry[1].stop, HD_STOP_ROOT);
    assert_int_equal(h->samples.newest.depth, 1);
    hd_samples_settle(h, 6 * INTERVAL, 0, NULL);
    const struct hd_tree_node *n = &turns.pool.node[h->samples.newest.leaf];
    assert_int_equal(n->frame.start, 2);
    assert_int_equal(n->time_ns, 6 * INTERVAL);
    assert_int_equal(n->samples, 2);
    assert_int_equal(n->last_ns, 4 * INTERVAL);
    assert_int_equal(h->samples.tree.samples, 2);
    assert_int_equal(h->samples.tree.time_ns, 6 * INTERVAL);
}

static void what_was_seen_otherwise_stays_what_it_was(void **state) {
    (void)state;
    struct hd_turn *h = start(0);
    unanswered(h, INTERVAL); /* of another question, that was taken back */
    sample(h, 2 * INTERVAL);
    unanswered(h, 3 * INTERVAL);
    sample(h, 4 * INTERVAL);
    answer(h, 2 * INTERVAL + 1);
    hd_samples_settle(h, 5 * INTERVAL, 0, NULL);
    assert_int_equal(h->samples.timeline.entry[0].way, HD_WAY_KERNEL);
    assert_int_equal(h->samples.timeline.entry[0].leaf, HD_TREE_NONE);
    assert_int_equal(turns.pool.node[h->samples.timeline.entry[2].leaf].frame.start, 2);
    assert_int_equal(turns.pool.node[h->samples.timeline.entry[2].leaf].time_ns, INTERVAL);
    assert_int_equal(turns.pool.node[h->samples.newest.leaf].frame.start, 1);
    assert_int_equal(turns.pool.node[h->samples.newest.leaf].time_ns, 2 * INTERVAL);
    assert_int_equal(h->samples.tree.newest_ns, 4 * INTERVAL);
    assert_int_equal(h->samples.tree.samples, 4);
    assert_int_equal(h->samples.tree.time_ns, 5 * INTERVAL);
    answer(h, 6 * INTERVAL); /* whose samples are not known any more */
    assert_int_equal(h->samples.tree.samples, 4);
    assert_int_equal(h->samples.tree.nodes, 2);
}

/* Else no hang of many such calls would ever be sampled more seldom. */
static void an_answer_that_is_the_one_before_is_no_change(void **state) {
    (void)state;
    struct hd_turn *h = start(0);
    struct hd_sample none = {.way = HD_WAY_KERNEL, .leaf = HD_TREE_NONE}, stack = {.leaf = 1};
    assert_false(hd_samples_differ(h, &none));
    assert_true(hd_samples_differ(h, &stack));
    assert_false(hd_samples_differ(h, &none));
    assert_false(hd_samples_differ(h, &stack));
    stack.leaf = 2;
    assert_true(hd_samples_differ(h, &stack));
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup(f, fresh)
    const struct CMUnitTest tests[] = {
        TEST(a_stop_that_is_known_late_is_nobodys_time),
        TEST(no_part_is_longer_than_the_turn),
        TEST(counts_only_cpu_time_as_running),
        TEST(one_that_never_left_its_processor_ran_all_the_time),
        TEST(what_it_waited_for_a_processor_is_not_its_blocking),
        TEST(the_timeline_agrees_with_the_cause),
        TEST(what_it_did_in_between_is_what_a_later_sample_finds),
        TEST(what_it_waits_for_at_the_next_sample_it_did_not_run_for),
        TEST(before_its_first_figures_it_did_as_after_them),
        TEST(gives_a_late_answer_to_all_samples_since_the_request),
        TEST(what_was_seen_otherwise_stays_what_it_was),
        TEST(an_answer_that_is_the_one_before_is_no_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
