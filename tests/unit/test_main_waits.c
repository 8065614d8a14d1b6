/* SPDX-License-Identifier: MIT
 *
 * The waits of an inserted library's main thread, by values: which are marked as the loop's, and from when.
 *
 * sources: preload/darwin/main_waits.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "os/os.h"
#include "preload/darwin/main_waits.h"

static struct hd_main_waits waits;
static struct hd_watch watch;
static struct hd_record record;
static struct {
    uint64_t words[64];
} stack; /* grows down: frames with lower indexes are deeper */
static struct hd_loop_verdict sent[8];
static unsigned sents;

static uint64_t address(unsigned index) {
    return (uint64_t)(uintptr_t)&stack.words[index];
}

/* A stack of main and a function; `frame` of that function. */
static const void *frame_at(unsigned index, uint64_t caller) {
    memset(&stack, 0, sizeof stack);
    stack.words[index] = address(60);
    stack.words[index + 1] = caller;
    stack.words[61] = 0x1000; /* main's own caller */
    return &stack.words[index];
}

static void take(void *worker, const struct hd_loop_verdict *verdict) {
    (void)worker;
    sent[sents++ % 8] = *verdict;
}

static void judge(void) {
    sents = 0;
    hd_main_waits_judge(&waits, &(struct hd_stack_tools){.send = take});
}

static bool is_running(void) {
    struct hd_loop_view view;
    hd_loop_view(&watch.loop, &view);
    return view.running;
}

/* A wait of `ms` for a descriptor. Returns whether the loop was idle meanwhile. */
static bool wait_for(const void *frame, int fd, bool kqueue, unsigned ms) {
    struct hd_main_files files = {.kqueue = false};
    struct hd_main_wait w;
    if (kqueue) {
        hd_main_files_kqueue(&files, fd);
    } else {
        hd_main_files_add(&files, fd);
    }
    hd_main_waits_begin(&waits, &w, &files, ms != 0, frame);
    bool idle = !is_running();
    hd_os_nap(ms * HD_NS_PER_MS);
    hd_main_waits_end(&waits, &w);
    assert_true(is_running());
    return idle;
}

static int begin(void **state) {
    (void)state;
    hd_os_clock_init();
    memset(&watch, 0, sizeof watch);
    memset(&record, 0, sizeof record);
    hd_loop_mark_at(&watch.loop, HANGDOG_AFTER_WAITING, hd_loop_ticks(&watch.loop));
    hd_main_waits_init(&waits, &watch, &record, address(0), address(64));
    return 0;
}

static void test_a_kqueue_is_the_loops_at_once(void **state) {
    (void)state;
    const void *frame = frame_at(20, 0x2000);
    assert_true(wait_for(frame, 5, true, 5));
    assert_false(watch.loop.found.certain);
    struct hd_main_files files = {.kqueue = false};
    struct hd_main_wait second;
    hd_main_files_kqueue(&files, 5);
    hd_main_waits_begin(&waits, &second, &files, true, frame);
    assert_true(watch.loop.found.certain); /* this wait may never end */
    hd_main_waits_end(&waits, &second);
    assert_true(hd_main_waits_due(&waits, 0));
    judge();
    assert_int_equal(1, sents);
    assert_int_equal(HD_LOOP_CERTAIN, sent[0].word);
    assert_false(hd_main_waits_due(&waits, 0));
    assert_int_equal(HD_RECORD_LOOP_CERTAIN, record.loop.certainty);
}

static void test_a_quick_wait_is_counted_later(void **state) {
    (void)state;
    const void *frame = frame_at(20, 0x2000);
    for (unsigned i = 0; i < 5; i++) {
        assert_true(wait_for(frame, 5, true, 2));
    }
    assert_int_equal(3, waits.pending.waits);
    assert_int_equal(2, waits.rule.group[0].sums.waits);
    uint32_t judged = waits.judged;
    assert_true(wait_for(frame, 5, true, 2));
    assert_int_equal(judged, waits.judged); /* two marks and no more */
    frame = frame_at(10, 0x3000);
    assert_false(wait_for(frame, 9, false, 2)); /* a blocking call in a callback */
    assert_int_equal(6, waits.rule.group[0].sums.waits);
    assert_int_equal(7, waits.order);
}

static void test_polls_become_the_loops_by_number_and_time(void **state) {
    (void)state;
    const void *frame = frame_at(20, 0x2000);
    uint64_t before = hd_loop_ticks(&watch.loop);
    assert_false(wait_for(frame, 5, false, 40));
    assert_false(wait_for(frame, 5, false, 40));
    assert_int_equal(0, watch.loop.found.launched);
    assert_false(wait_for(frame, 5, false, 40));
    assert_in_range(watch.loop.found.launched, before, before + 40 * HD_NS_PER_MS);
    assert_true(wait_for(frame, 5, false, 1));
    assert_false(watch.loop.found.certain);
    assert_int_equal(HD_RECORD_LOOP_DOUBTFUL, record.loop.certainty);
    hd_os_nap(250 * HD_NS_PER_MS); /* a long turn, and the loop's wait again */
    assert_true(wait_for(frame, 5, false, 1));
    assert_int_equal(HD_RECORD_LOOP_LIKELY, record.loop.certainty);
}

static void test_what_does_not_count(void **state) {
    (void)state;
    struct hd_main_files none = {.kqueue = false};
    struct hd_main_wait w;
    const void *frame = frame_at(20, 0x2000);
    uint64_t other_stack[2] = {0};
    hd_main_waits_begin(&waits, &w, &none, true, frame);
    assert_false(w.counted);
    assert_false(wait_for(other_stack, 5, true, 0));
    waits.busy = true; /* a signal handler within this code */
    assert_false(wait_for(frame, 5, true, 0));
    assert_int_equal(0, waits.order);
}

/* A frame pointer may be any value: a stack that ends in a circle, or points outside. */
static void test_a_broken_stack_ends(void **state) {
    (void)state;
    const void *frame = frame_at(20, 0x2000);
    static const int64_t pointers[] = {0, -1, 1, 8, 3};
    for (size_t i = 0; i < sizeof pointers / sizeof pointers[0]; i++) {
        stack.words[20] = (uint64_t)pointers[i];
        wait_for(frame, 5, true, 0);
    }
    stack.words[20] = address(20);
    wait_for(frame, 5, true, 0);
    stack.words[20] = address(63);
    wait_for(frame, 5, true, 0);
}

static void test_the_run_loop_takes_over(void **state) {
    (void)state;
    const void *frame = frame_at(20, 0x2000);
    wait_for(frame, 5, true, 1);
    hd_main_waits_leave(&waits);
    assert_false(wait_for(frame, 5, true, 1));
    assert_int_equal(1, watch.loop.found.changes);
    judge();
    assert_int_equal(2, sents);
    assert_int_equal(HD_LOOP_ANOTHER, sent[0].word);
    assert_int_equal(HD_LOOP_CERTAIN, sent[1].word);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_a_kqueue_is_the_loops_at_once, begin),
        cmocka_unit_test_setup(test_a_quick_wait_is_counted_later, begin),
        cmocka_unit_test_setup(test_polls_become_the_loops_by_number_and_time, begin),
        cmocka_unit_test_setup(test_what_does_not_count, begin),
        cmocka_unit_test_setup(test_a_broken_stack_ends, begin),
        cmocka_unit_test_setup(test_the_run_loop_takes_over, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
