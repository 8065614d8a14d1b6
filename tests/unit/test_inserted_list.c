/* SPDX-License-Identifier: MIT
 *
 * The variable of the loader of macOS: our entry leaves it, the user's stay.
 *
 * sources: preload/darwin/inserted_list.c
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <stdio.h>

#include "preload/darwin/inserted_list.h"

static char before[] = "A=1", after[] = "DYLD_INSERT_LIBRARIES_TOO=2", list[512];
static char *environment[] = {before, list, after, NULL};

static const char *cleaned(const char *value) {
    environment[1] = list;
    environment[2] = after;
    snprintf(list, sizeof list, "DYLD_INSERT_LIBRARIES=%s", value);
    hd_inserted_clean(environment);
    return hd_inserted_find(environment, "DYLD_INSERT_LIBRARIES");
}

static void test_our_entry_leaves(void **state) {
    (void)state;
    assert_null(cleaned("/lib/libhangdog-insert.dylib"));
    assert_ptr_equal(after, environment[1]);
    assert_null(environment[2]);
    assert_null(cleaned("libhangdog-insert.dylib"));
    assert_null(cleaned("/a/libhangdog-insert.dylib:/b/libhangdog-insert.dylib"));
}

static void test_the_users_entries_stay(void **state) {
    (void)state;
    assert_string_equal("/a.dylib", cleaned("/lib/libhangdog-insert.dylib:/a.dylib"));
    assert_string_equal("/a.dylib:/b.dylib", cleaned("/a.dylib:/lib/libhangdog-insert.dylib:/b.dylib"));
    assert_string_equal("/a.dylib", cleaned("/a.dylib"));
    assert_string_equal("/not-libhangdog-insert.dylib", cleaned("/not-libhangdog-insert.dylib"));
    assert_string_equal("/libhangdog-insert.dylib.1", cleaned("/libhangdog-insert.dylib.1"));
    assert_ptr_equal(after, environment[2]);
}

static void test_a_variable_is_dropped(void **state) {
    (void)state;
    cleaned("/a.dylib");
    hd_inserted_drop(environment, "A");
    hd_inserted_drop(environment, "B");
    assert_ptr_equal(list, environment[0]);
    assert_null(hd_inserted_find(environment, "A"));
    assert_null(environment[2]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_our_entry_leaves),
        cmocka_unit_test(test_the_users_entries_stay),
        cmocka_unit_test(test_a_variable_is_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
