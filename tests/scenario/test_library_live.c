/* SPDX-License-Identifier: MIT
 *
 * hangdog_report_now() from another thread, while the loop hangs: asleep, or computing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "library.h"

#define T THRESHOLD_MS
#define BYTES (1u << 20)
#define THREADS 4
#define CALLS 5

static char document[BYTES];

static json_t *report_now(void) {
    long length = hangdog_report_now(document, sizeof document, HANGDOG_FORM_JSON);
    assert_true(length > 0 && (size_t)length < sizeof document);
    assert_int_equal(strlen(document), length);
    json_t *report = json_loads(document, 0, NULL);
    assert_non_null(report);
    assert_string_equal(report_text(report, "kind"), "live");
    return report;
}

static const json_t *watched_thread(const json_t *report) {
    const json_t *threads = json_object_get(report, "threads");
    for (size_t i = 0; i < json_array_size(threads); i++) {
        const json_t *thread = json_array_get(threads, i);
        if (json_is_true(json_object_get(thread, "watched"))) {
            return thread;
        }
    }
    fail_msg("no thread is watched");
    return NULL;
}

static uint64_t number(const json_t *frame, const char *key) {
    const char *text = json_string_value(json_object_get(frame, key));
    return text != NULL ? strtoull(text, NULL, 16) : 0;
}

/* One of the thread's frames is in the function that begins there. */
static bool is_in(const json_t *thread, void (*function)(uint64_t)) {
    const json_t *frames = json_object_get(json_object_get(thread, "stack"), "frames");
    for (size_t i = 0; i < json_array_size(frames); i++) {
        const json_t *frame = json_array_get(frames, i);
        uint64_t start = number(frame, "start");
        if (start != 0 &&
            start + number(frame, "pc") - number(frame, "offset") == (uint64_t)(uintptr_t)function) {
            return true;
        }
    }
    return SANITIZED; /* its frames may be guessed */
}

static void a_loop_that_sleeps_has_its_function(void **state) {
    (void)state;
    looper_start(&looper, "main", 0);
    looper_post(&looper, block_sleep, 4 * T);
    nap_ms(2 * T);
    json_t *report = report_now();
    const json_t *thread = watched_thread(report);
    assert_true(is_in(thread, block_sleep));
    assert_string_equal(report_text(thread, "state"), "blocked");
    assert_true(json_is_true(json_object_get(report, "complete")));
    assert_true(report_ns(report, "duration_ns") < 2 * SECOND);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(report, "app"), "pid")), getpid());
    json_decref(report);
    looper_wait(&looper);
    report = report_now(); /* the same thread, idle again */
    assert_true(SANITIZED || !is_in(watched_thread(report), block_sleep));
    json_decref(report);
    looper_stop(&looper);
    json_t *hangs = spool_wait(&spool, NULL, 1); /* the hang has its own report, as ever */
    assert_true(report_blames(json_array_get(hangs, 0), block_sleep));
    json_decref(hangs);
}

static void a_loop_that_computes_has_its_newest_sample(void **state) {
    (void)state;
    looper_start(&looper, "main", 0);
    looper_post(&looper, block_spin, 4 * T);
    nap_ms(2 * T);
    json_t *report = report_now();
    const json_t *thread = watched_thread(report);
    assert_true(is_in(thread, block_spin));
    json_decref(report);
    looper_wait(&looper);
    looper_stop(&looper);
    json_decref(spool_wait(&spool, NULL, 1));
}

static void the_text_has_a_line_for_each_thread(void **state) {
    char line[64];
    (void)state;
    looper_start(&looper, "main", 0);
    long length = hangdog_report_now(document, sizeof document, HANGDOG_FORM_TEXT);
    assert_int_equal(strlen(document), length);
    assert_non_null(strstr(document, "\" (watched)  blocked in epoll_"));
    snprintf(line, sizeof line, "\nthread %d \"", (int)getpid());
    assert_non_null(strstr(document, line));
    assert_non_null(strstr(document, "\n  /"));
    assert_int_equal(document[length - 1], '\n');
    looper_stop(&looper);
}

static void what_does_not_fit_is_cut(void **state) {
    char small[100];
    (void)state;
    memset(small, 'x', sizeof small);
    long length = hangdog_report_now(small, sizeof small / 2, HANGDOG_FORM_JSON);
    assert_true(length > (long)sizeof small);
    assert_int_equal(strlen(small), sizeof small / 2 - 1);
    assert_int_equal(small[sizeof small / 2], 'x');
    assert_true(hangdog_report_now(NULL, 0, HANGDOG_FORM_TEXT) > 0);
    assert_int_equal(hangdog_report_now(NULL, 1, HANGDOG_FORM_TEXT), -EINVAL);
    assert_int_equal(hangdog_report_now(small, sizeof small, (hangdog_form)7), -EINVAL);
    assert_int_equal(hangdog_stop(), 0);
    assert_int_equal(hangdog_report_now(small, sizeof small, HANGDOG_FORM_TEXT), -ESRCH);
}

static void *ask(void *failed) {
    char *text = malloc(BYTES);
    for (unsigned i = 0; i < CALLS; i++) {
        long length = hangdog_report_now(text, BYTES, HANGDOG_FORM_JSON);
        json_t *report = length > 0 ? json_loads(text, 0, NULL) : NULL;
        *(bool *)failed |= report == NULL;
        json_decref(report);
    }
    free(text);
    return NULL;
}

static void several_threads_ask_at_once(void **state) {
    pthread_t thread[THREADS];
    bool failed[THREADS] = {false};
    (void)state;
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&thread[i], NULL, ask, &failed[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
        assert_false(failed[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_loop_that_sleeps_has_its_function, begin_library, end_library),
        cmocka_unit_test_setup_teardown(a_loop_that_computes_has_its_newest_sample, begin_library,
                                        end_library),
        cmocka_unit_test_setup_teardown(the_text_has_a_line_for_each_thread, begin_library, end_library),
        cmocka_unit_test_setup_teardown(what_does_not_fit_is_cut, begin_library, end_library),
        cmocka_unit_test_setup_teardown(several_threads_ask_at_once, begin_library, end_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
