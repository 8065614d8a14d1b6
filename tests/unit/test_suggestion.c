/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "cli/base/suggestion.h"

static const char *nearest(const char *word) {
    static const char *const commands[] = {"run", "list", "show", "stats", "doctor"};
    struct suggestion s = {.word = word};
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        suggestion_add(&s, commands[i]);
    }
    return s.nearest != NULL ? s.nearest : "";
}

static void two_typing_errors_are_seen_through(void **state) {
    (void)state;
    assert_string_equal(nearest("rnu"), "run");
    assert_string_equal(nearest("lsit"), "list");
    assert_string_equal(nearest("lst"), "list");
    assert_string_equal(nearest("lits"), "list");
    assert_string_equal(nearest("shwo"), "show");
    assert_string_equal(nearest("stat"), "stats");
    assert_string_equal(nearest("docter"), "doctor");
}

static void other_words_are_not_taken_for_one(void **state) {
    char longer[200];
    (void)state;
    memset(longer, 'r', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_string_equal(nearest("bogus"), "");
    assert_string_equal(nearest("x"), "");
    assert_string_equal(nearest("ab"), "");
    assert_string_equal(nearest(""), "");
    assert_string_equal(nearest("dcotro"), "doctor");
    assert_string_equal(nearest("dcotrox"), "");
    assert_string_equal(nearest(longer), "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_typing_errors_are_seen_through),
        cmocka_unit_test(other_words_are_not_taken_for_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
