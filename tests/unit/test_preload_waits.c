/* SPDX-License-Identifier: MIT
 *
 * The table of a thread's waits and the worker's judgement of it, without stacks to read: when a judgement is
 * due, and which key an entry has.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <unistd.h>

#include "preload/waits/recognition.h"

#define MS HD_NS_PER_MS

static void take(void *worker, const struct hd_loop_verdict *verdict) {
    (void)worker;
    (void)verdict;
}
static struct hd_stack_tools tools = {.proc_fd = -1, .send = take};
static struct hd_watch watch;
static struct hd_wait_table *waits;
static struct hd_recognition *g;
static struct hd_record record;

/* A thread with one entry: it waits for an epoll instance, and the worker has read its stack. */
static int start(void **state) {
    (void)state;
    memset(&watch, 0, sizeof watch);
    waits = waits != NULL ? waits : hd_wait_table_new();
    assert_non_null(waits);
    g = waits->recognition;
    memset(waits, 0, sizeof *waits);
    waits->recognition = g;
    waits->loop = &watch.loop;
    waits->watch = &watch;
    watch.loop.thread = hd_thread_id_of(getpid());
    watch.loop.ns_per_tick_32 = 1ULL << 32;
    hd_stack_copies_init(&waits->copies);
    hd_recognition_init(g, &record);
    g->entry[0] = (struct hd_known_wait){
        .known = true, .descriptors.epoll = true, .seen.at = {.stack_hash = 1, .sp = 4096}};
    hd_set_add(&g->entry[0].seen.set, HD_FILE_EPOLL + 1);
    return 0;
}

static void judges_a_loop_after_waits_and_rarely_once_certain(void **state) {
    (void)state;
    assert_true(hd_recognition_due(waits, hd_os_now_ns())); /* for the first time */
    hd_recognition_judge(waits, &tools);
    assert_false(hd_recognition_due(waits, g->progress.judged_ns + 20000 * MS)); /* nothing has waited */
    hd_wait_sum(waits, &waits->entry[0], 1000 * MS, 1400 * MS);
    assert_true(hd_recognition_due(waits, g->progress.judged_ns));
    hd_recognition_judge(waits, &tools);
    hd_wait_sum(waits, &waits->entry[0], 1500 * MS, 1600 * MS);
    watch.loop.found.certain = true; /* in a turn, in which the program may have left it */
    assert_false(hd_recognition_due(waits, g->progress.judged_ns + 900 * MS));
    assert_true(hd_recognition_due(waits, g->progress.judged_ns + 1000 * MS));
    hd_loop_mark(&watch.loop, HANGDOG_BEFORE_WAITING);
    assert_false(hd_recognition_due(waits, g->progress.judged_ns + 9000 * MS));
    assert_true(hd_recognition_due(waits, g->progress.judged_ns + 10000 * MS));
}

/* A signal handler jumps out of it. The entry's number was odd for ever, and the thread copied no stack. */
static void an_entry_that_was_made_by_half_is_complete_when_it_is_made_again(void **state) {
    (void)state;
    const struct hd_wait_call call = {.epoll = 3};
    waits->entry[0].uses = 5;
    waits->slow_path = true;
    hd_wait_jumped(waits);
    assert_false(waits->slow_path);
    assert_ptr_equal(hd_wait_table_find(waits, 77, &call, 4096), &waits->entry[0]);
    assert_int_equal(waits->entry[0].uses, 6);
    assert_ptr_equal(hd_wait_table_find(waits, 77, &call, 4096), &waits->entry[0]);
    assert_int_equal(waits->entry[0].uses, 6);
}

int main(void) {
#define CASE(f) cmocka_unit_test_setup(f, start)
    const struct CMUnitTest tests[] = {
        CASE(judges_a_loop_after_waits_and_rarely_once_certain),
        CASE(an_entry_that_was_made_by_half_is_complete_when_it_is_made_again),
    };
    return cmocka_run_group_tests_name("waits", tests, NULL, NULL);
}
