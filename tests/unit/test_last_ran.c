/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/live/last_ran.h"

static void the_time_of_a_tasks_last_run(void **unused) {
    (void)unused;
    assert_int_equal(42588802669643, last_ran_parse("cat (10960, #threads: 1)\n"
                                                    "------------------------\n"
                                                    "se.exec_start      :      42588802.669643\n"
                                                    "se.vruntime        :         14096.491428\n"));
}

static void text_of_another_form_has_none(void **unused) {
    (void)unused;
    static const char *const texts[] = {"",
                                        "se.exec_start",
                                        "se.exec_start : ",
                                        "se.exec_start : -5.1\n",
                                        "se.exec_start : 1e300\n",
                                        "se.exec_start : nan\n",
                                        "comm se.exec_start : 12.5\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_int_equal(0, last_ran_parse(texts[i]));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_time_of_a_tasks_last_run),
                                       cmocka_unit_test(text_of_another_form_has_none)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
