/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/words.h"
#include "hangdog/hangdog.h"

struct value {
    unsigned value;
    const char *word;
};

static void assert_words(const char *(*word)(unsigned value), const struct value *values, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const char *found = word(values[i].value);
        if (values[i].word[0] == '\0') {
            assert_null(found);
        } else {
            assert_non_null(found);
            assert_string_equal(found, values[i].word);
        }
    }
    assert_null(word((unsigned)count));
    assert_null(word(UINT8_MAX));
    assert_null(word((unsigned)-1));
}
#define ASSERT_WORDS(word, values) assert_words(word, values, sizeof(values) / sizeof(values)[0])

static void each_line_of_the_list_is_a_value_and_its_word(void **state) {
    static const struct value reports[] = {
#define HD_WORD_REPORT(id, word, ...) {HD_REPORT_##id, word},
#include "base/words.def"
    };
    static const struct value causes[] = {
#define HD_WORD_CAUSE(id, word, ...) {HD_CAUSE_##id, word},
#include "base/words.def"
    };
    static const struct value locks[] = {
#define HD_WORD_LOCK(id, word, ...) {HD_LOCK_##id, word},
#include "base/words.def"
    };
    static const struct value lock_names[] = {
#define HD_WORD_LOCK(id, word, name) {HD_LOCK_##id, name},
#include "base/words.def"
    };
    static const struct value parties[] = {
#define HD_WORD_PARTY(id, word) {HD_PARTY_##id, word},
#include "base/words.def"
    };
    static const struct value stops[] = {
#define HD_WORD_STOP(id, word, ...) {HD_STOP_##id, word},
#include "base/words.def"
    };
    (void)state;
    ASSERT_WORDS(hd_words_report, reports);
    ASSERT_WORDS(hd_words_cause, causes);
    ASSERT_WORDS(hd_words_lock, locks);
    ASSERT_WORDS(hd_words_lock_name, lock_names);
    ASSERT_WORDS(hd_words_party, parties);
    ASSERT_WORDS(hd_words_stop, stops);
    assert_int_equal(HD_CAUSE_KINDS, sizeof causes / sizeof causes[0]);
    assert_int_equal(HD_LOCK_KINDS, sizeof locks / sizeof locks[0]);
}

static void each_line_of_a_thread_and_of_a_capture_is_a_value(void **state) {
    static const struct value runs[] = {
#define HD_WORD_RUN(id, word) {HD_RUN_##id, word},
#include "base/words.def"
    };
    static const struct value schemes[] = {
#define HD_WORD_SCHEME(id, word) {HD_SCHEME_##id, word},
#include "base/words.def"
    };
    static const struct value ways[] = {
#define HD_WORD_WAY(id, word) {HD_WAY_##id, word},
#include "base/words.def"
    };
    static const struct value trusts[] = {
#define HD_WORD_TRUST(id, word) {HD_TRUST_##id, word},
#include "base/words.def"
    };
    (void)state;
    ASSERT_WORDS(hd_words_run, runs);
    ASSERT_WORDS(hd_words_scheme, schemes);
    ASSERT_WORDS(hd_words_way, ways);
    ASSERT_WORDS(hd_words_trust, trusts);
}

/* The public header has these enumerations: the list only names their values. */
static void words_of_the_public_header_have_its_values(void **state) {
    static const struct value states[] = {
#define HD_WORD_STATE(id, word) {HANGDOG_STATE_##id, word},
#include "base/words.def"
    };
    static const struct value activities[] = {
#define HD_WORD_ACTIVITY(id, word) {HANGDOG_##id, word},
#include "base/words.def"
    };
    (void)state;
    ASSERT_WORDS(hd_words_state, states);
    ASSERT_WORDS(hd_words_activity, activities);
    assert_int_equal(HANGDOG_EXIT + 1, sizeof activities / sizeof activities[0]);
}

/* Reports of older versions, and other programs, have these. */
static void the_words_of_version_1_stay(void **state) {
    (void)state;
    assert_string_equal(hd_words_report(HD_REPORT_TOO_MANY_THREADS), "too-many-threads");
    assert_string_equal(hd_words_cause(HD_CAUSE_PAGE_FAULT), "page-fault");
    assert_string_equal(hd_words_lock(HD_LOCK_PYTHON), "semaphore");
    assert_string_equal(hd_words_state(HANGDOG_STATE_BACKGROUND), "background");
    assert_string_equal(hd_words_way(HD_WAY_FROZEN), "frozen");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_line_of_the_list_is_a_value_and_its_word),
        cmocka_unit_test(each_line_of_a_thread_and_of_a_capture_is_a_value),
        cmocka_unit_test(words_of_the_public_header_have_its_values),
        cmocka_unit_test(the_words_of_version_1_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
