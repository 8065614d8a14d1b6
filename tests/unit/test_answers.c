/* SPDX-License-Identifier: MIT
 *
 * The answers that a module keeps: the same place gives the same answer, another place none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "symbolizer/answers.h"

#define PLACES (4 * ANSWERS_SLOTS) /* more than the table holds */

static struct answer_place place(uint64_t i) {
    return (struct answer_place){.addr = 0x1000 + 16 * i, .start = 0x1000 + 16 * (i - i % 4)};
}

static void a_kept_answer_is_found_and_no_other(void **state) {
    struct answers answers = {{NULL}};
    struct symbol out[SYMBOLS_MAX];
    unsigned found = 0;
    (void)state;
    assert_int_equal(-1, answers_find(&answers, place(0), out));
    for (int i = 0; i < PLACES; i++) {
        const struct symbol symbols[2] = {{.function = "inner", .line = i, .inlined = true}, {.line = -i}};
        answers_keep(&answers, place((uint64_t)i), symbols, i % 3);
        assert_int_equal(i % 3, answers_find(&answers, place((uint64_t)i), out));
    }
    for (int i = 0; i < PLACES; i++) {
        int n = answers_find(&answers, place((uint64_t)i), out);
        found += n >= 0;
        assert_true(n == -1 || n == i % 3);
        if (n > 0) {
            assert_int_equal(i, out[0].line);
        }
        if (n > 1) {
            assert_int_equal(-i, out[1].line);
        }
    }
    assert_in_range(found, ANSWERS_SLOTS / 2, ANSWERS_SLOTS);
    answers_free(&answers);
    assert_int_equal(-1, answers_find(&answers, place(PLACES - 1), out));
}

static void the_start_of_the_function_is_part_of_the_place(void **state) {
    struct answers answers = {{NULL}};
    struct symbol out[SYMBOLS_MAX] = {0};
    (void)state;
    answers_keep(&answers, (struct answer_place){.addr = 0x2010, .start = 0x2000}, out, 0);
    assert_int_equal(0, answers_find(&answers, (struct answer_place){.addr = 0x2010, .start = 0x2000}, out));
    assert_int_equal(-1, answers_find(&answers, (struct answer_place){.addr = 0x2010, .start = 0x2008}, out));
    answers_free(&answers);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kept_answer_is_found_and_no_other),
        cmocka_unit_test(the_start_of_the_function_is_part_of_the_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
