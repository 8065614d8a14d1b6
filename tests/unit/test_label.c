/* SPDX-License-Identifier: MIT
 *
 * A label is a bounded copy that no reader sees torn, and a turn has the label of most of its time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "os/os.h"
#include "turn/turn_label.h"

#define TRACE "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

static struct hd_label label;
static _Atomic bool stop;

static struct hd_label_text read_label(void) {
    struct hd_label_text text;
    uint64_t ticks;
    assert_true(hd_label_read(&label, &ticks, &text));
    hd_label_clean(&text);
    return text;
}

static void a_label_that_was_never_set_is_none(void **state) {
    (void)state;
    struct hd_label never = {0};
    struct hd_label_text text;
    uint64_t ticks;
    assert_false(hd_label_read(&never, &ticks, &text));
}

static void a_hostile_label_is_cut_and_cleaned(void **state) {
    (void)state;
    char text[10000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    hd_label_set(&label, 1, text, text);
    assert_int_equal(strlen(read_label().label), HD_LABEL_BYTES - 1);
    assert_string_equal(read_label().traceparent, "");
    memcpy(text + HD_LABEL_BYTES - 2, "\xe2\x82\xac", 3); /* the cut falls into this character */
    hd_label_set(&label, 1, text, NULL);
    assert_int_equal(strlen(read_label().label), HD_LABEL_BYTES - 2);
    hd_label_set(&label, 1, "a\033[31m\n\x7f", TRACE);
    assert_string_equal(read_label().label, "a?[31m??");
    assert_string_equal(read_label().traceparent, TRACE);
    hd_label_set(&label, 1, NULL, NULL);
    assert_string_equal(read_label().label, "");
}

static void only_the_w3c_form_is_a_traceparent(void **state) {
    (void)state;
    static const char *const wrong[] = {
        "",
        "00",
        TRACE "0",
        TRACE "-x",
        "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-4BF92F3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        hd_label_set(&label, 1, "x", wrong[i]);
        assert_string_equal(read_label().traceparent, "");
    }
}

static void a_call_within_a_call_changes_nothing(void **state) {
    (void)state;
    hd_label_set(&label, 1, "outer", NULL);
    atomic_fetch_add(&label.sequence, 1); /* as a signal handler finds it that interrupts the call */
    hd_label_set(&label, 2, "inner", NULL);
    atomic_fetch_add(&label.sequence, 1);
    assert_string_equal(read_label().label, "outer");
}

static void *set_labels(void *unused) {
    char text[2][HD_LABEL_BYTES];
    memset(text[0], 'a', sizeof text[0] - 1);
    memset(text[1], 'b', sizeof text[1] - 1);
    text[0][HD_LABEL_BYTES - 1] = text[1][HD_LABEL_BYTES - 1] = '\0';
    for (unsigned i = 0; !atomic_load(&stop); i++) {
        hd_label_set(&label, i, text[i % 2], NULL);
    }
    return unused;
}

static void no_reader_sees_a_torn_label(void **state) {
    (void)state;
    pthread_t thread;
    struct hd_label_text text;
    uint64_t ticks;
    unsigned seen = 0;
    assert_int_equal(pthread_create(&thread, NULL, set_labels, NULL), 0);
    for (uint64_t end_ns = hd_os_now_ns() + 5 * HD_NS_PER_S; seen < 20000 && hd_os_now_ns() < end_ns;) {
        if (hd_label_read(&label, &ticks, &text) && strlen(text.label) == HD_LABEL_BYTES - 1) {
            char whole[HD_LABEL_BYTES] = {0};
            memset(whole, ticks % 2 == 0 ? 'a' : 'b', sizeof whole - 1);
            assert_string_equal(text.label, whole);
            seen++;
        }
    }
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    assert_true(seen > 0);
}

static void a_turn_has_the_label_of_most_of_its_time(void **state) {
    (void)state;
    static const struct hd_label_text slow = {.label = "slow"}, quick = {.label = "quick"}, none = {0};
    struct hd_turn_label turn = {0};
    hd_turn_label_add(&turn, &quick, 50);
    hd_turn_label_add(&turn, &slow, 700);
    hd_turn_label_add(&turn, &none, 100);
    hd_turn_label_add(&turn, &quick, 50);
    assert_string_equal(turn.text.label, "slow");
    hd_turn_label_add(&turn, &none, 2000);
    assert_string_equal(turn.text.label, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_label_that_was_never_set_is_none),
        cmocka_unit_test(a_hostile_label_is_cut_and_cleaned),
        cmocka_unit_test(only_the_w3c_form_is_a_traceparent),
        cmocka_unit_test(a_call_within_a_call_changes_nothing),
        cmocka_unit_test(no_reader_sees_a_torn_label),
        cmocka_unit_test(a_turn_has_the_label_of_most_of_its_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
