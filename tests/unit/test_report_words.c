/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/reader/report_words.h"
#include "collector/report/kind.h"

static void properties_of_kinds(void **state) {
    static const struct {
        const char *kind;
        bool is_hang, is_of_turn, ends, counts, has_groups, is_listed;
    } cases[] = {
        {"hang", .is_hang = true, .is_of_turn = true, .counts = true},
        {"launch", .is_hang = true, .is_of_turn = true, .counts = true, .is_listed = true},
        {"background-hang", .is_hang = true, .is_of_turn = true, .counts = true, .is_listed = true},
        {"too-many-threads", .is_hang = true, .is_of_turn = true, .has_groups = true, .is_listed = true},
        {"cpu", .has_groups = true, .is_listed = true},
        {"frame-drop", .is_of_turn = true, .has_groups = true, .is_listed = true},
        {"fatal-hang", .is_hang = true, .ends = true, .counts = true, .is_listed = true},
        {"crash", .ends = true, .has_groups = true, .is_listed = true},
        {"live", .is_listed = true},
        {"pool-stall", .is_hang = true, .is_of_turn = true, .has_groups = true, .is_listed = true},
        {"session", .is_hang = false},
        {"error", .has_groups = true, .is_listed = true},
        {"of-a-later-version", .is_hang = false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *kind = cases[i].kind;
        assert_int_equal(report_words_kind_is(kind, HD_OF_HANG), cases[i].is_hang);
        assert_int_equal(report_words_kind_is(kind, HD_OF_TURN), cases[i].is_of_turn);
        assert_int_equal(report_words_kind_is(kind, HD_OF_END), cases[i].ends);
        assert_int_equal(kind_is_hang(kind), cases[i].counts);
        assert_int_equal(kind_has_own_groups(kind), cases[i].has_groups);
        assert_int_equal(kind_is_listed(kind), cases[i].is_listed);
    }
    assert_false(report_words_kind_is(NULL, HD_OF_HANG));
}

static void brief_forms_and_nouns(void **state) {
    static const char *const briefs[][2] = {{"fatal-hang", "fatal"},
                                            {"background-hang", "background"},
                                            {"too-many-threads", "threads"},
                                            {"frame-drop", "frames"},
                                            {"hang", "hang"},
                                            {"of-a-later-version", "of-a-later-version"}};
    (void)state;
    for (size_t i = 0; i < sizeof briefs / sizeof briefs[0]; i++) {
        assert_string_equal(report_words_brief(briefs[i][0]), briefs[i][1]);
        assert_string_equal(report_words_kind_of(briefs[i][1]), briefs[i][0]);
        assert_string_equal(report_words_kind_of(briefs[i][0]), briefs[i][0]);
    }
    assert_null(report_words_brief(NULL));
    assert_null(report_words_kind_of(NULL));
    assert_string_equal(report_words_noun("launch"), "slow launch");
    assert_string_equal(report_words_noun("too-many-threads"), "hang");
    assert_string_equal(report_words_noun("of-a-later-version"), "of-a-later-version");
    assert_string_equal(report_words_noun(NULL), "hang");
}

static void words_of_options(void **state) {
    (void)state;
    assert_string_equal(
        REPORT_WORDS_KINDS,
        "hang|launch|background-hang|too-many-threads|cpu|frame-drop|fatal-hang|crash|live|pool-stall|session|"
        "background|threads|frames|fatal");
    assert_memory_equal(REPORT_WORDS_CAUSES, "cpu|lock|disk|", 14);
    assert_non_null(strstr(REPORT_WORDS_CAUSES, "|page-fault|"));
    assert_string_equal(strrchr(REPORT_WORDS_CAUSES, '|'), "|unknown");
}

static void why_a_walk_ended(void **state) {
    (void)state;
    assert_null(report_words_stop("root"));
    assert_null(report_words_stop("of-a-later-version"));
    assert_null(report_words_stop(NULL));
    assert_string_equal(report_words_stop("exited"), "the thread ended");
}

static void listed_kinds_for_a_user(void **state) {
    char text[160], cut[8];
    (void)state;
    kind_write_listed(text, sizeof text);
    assert_string_equal(text, "frame-drop, cpu, crash, error, fatal-hang, launch, background-hang, "
                              "too-many-threads, live or pool-stall");
    kind_write_listed(cut, sizeof cut);
    assert_string_equal(cut, "frame-d");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(properties_of_kinds),     cmocka_unit_test(brief_forms_and_nouns),
        cmocka_unit_test(words_of_options),        cmocka_unit_test(why_a_walk_ended),
        cmocka_unit_test(listed_kinds_for_a_user),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
