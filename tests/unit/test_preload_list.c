/* SPDX-License-Identifier: MIT
 *
 * What `hangdog run` puts into LD_PRELOAD, and in which order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "cli/run/preload_list.h"

#define OWN "/opt/hangdog/libhangdog-preload.so" /* is no file: it needs nothing */

static void ours_comes_before_the_users_own(void **state) {
    (void)state;
    char list[256];
    preload_list(list, sizeof list, OWN, NULL, "/bin/true");
    assert_string_equal(list, OWN);
    preload_list(list, sizeof list, OWN, "", "/bin/true");
    assert_string_equal(list, OWN ":"); /* taken off again, the user's own empty list is left */
    preload_list(list, sizeof list, OWN, "libb.so:/usr/lib/liba.so", "/bin/true");
    assert_string_equal(list, OWN ":libb.so:/usr/lib/liba.so");
}

static void a_runtime_that_the_user_preloads_comes_first(void **state) {
    (void)state;
    char list[256];
    preload_list(list, sizeof list, OWN, "liba.so /usr/lib/libtsan.so.2:libb.so", "/bin/true");
    assert_string_equal(list, "/usr/lib/libtsan.so.2:" OWN ":liba.so /usr/lib/libtsan.so.2:libb.so");
}

static void a_name_that_only_looks_like_a_runtime_stays_where_it_is(void **state) {
    (void)state;
    char list[256];
    preload_list(list, sizeof list, OWN, "libasan.so/liba.so:libasan.sober.so:libasan.so.8", "/bin/true");
    assert_string_equal(list, "libasan.so.8:" OWN ":libasan.so/liba.so:libasan.sober.so:libasan.so.8");
    preload_list(list, sizeof list, OWN, "libclang_rt.profile.so:libclang_rt.asan-x86_64.so", "/bin/true");
    assert_string_equal(list, "libclang_rt.asan-x86_64.so:" OWN
                              ":libclang_rt.profile.so:libclang_rt.asan-x86_64.so");
}

/* This program is instrumented when the build is. */
static void a_runtime_that_the_program_needs_comes_first(void **state) {
    (void)state;
    char list[256];
    preload_list(list, sizeof list, OWN, "libb.so", "/proc/self/exe");
#if defined(__SANITIZE_ADDRESS__)
    assert_memory_equal(list, "libasan.so.", strlen("libasan.so."));
#elif defined(__SANITIZE_THREAD__)
    assert_memory_equal(list, "libtsan.so.", strlen("libtsan.so."));
#else
    assert_string_equal(list, OWN ":libb.so");
#endif
    const char *rest = strstr(list, OWN);
    assert_non_null(rest);
    assert_string_equal(rest, OWN ":libb.so");
}

static void a_program_that_is_none_changes_nothing(void **state) {
    (void)state;
    static const char *const programs[] = {"", "/", "no-such-program", "/dev/null", "/proc/self/maps", "sh"};
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        char list[256];
        preload_list(list, sizeof list, OWN, NULL, programs[i]);
        assert_string_equal(list, OWN);
    }
}

static void a_list_that_is_too_long_keeps_whole_names(void **state) {
    (void)state;
    char list[sizeof OWN + 4];
    preload_list(list, sizeof list, OWN, "liba.so", "/bin/true");
    assert_string_equal(list, OWN);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ours_comes_before_the_users_own),
        cmocka_unit_test(a_runtime_that_the_user_preloads_comes_first),
        cmocka_unit_test(a_name_that_only_looks_like_a_runtime_stays_where_it_is),
        cmocka_unit_test(a_runtime_that_the_program_needs_comes_first),
        cmocka_unit_test(a_program_that_is_none_changes_nothing),
        cmocka_unit_test(a_list_that_is_too_long_keeps_whole_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
