/* SPDX-License-Identifier: MIT
 *
 * Debug ids: the example of Sentry's documentation, short build-ids, and what is none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/export/debug_id.h"

static void ids(void **state) {
    char id[DEBUG_ID_BYTES];
    (void)state;
    assert_true(export_debug_id(id, "f1c3bcc0279865fe3058404b2831d9e64135386c"));
    assert_string_equal(id, "c0bcc3f1-9827-fe65-3058-404b2831d9e6");
    export_breakpad_id(id, "f1c3bcc0279865fe3058404b2831d9e64135386c");
    assert_string_equal(id, "C0BCC3F19827FE653058404B2831D9E60");
    assert_true(export_debug_id(id, "A1b2"));
    assert_string_equal(id, "0000b2a1-0000-0000-0000-000000000000");
}

static void none(void **state) {
    static const char *const texts[] = {"", "a", "abc", "zz", "0x12", "12 4"};
    char id[DEBUG_ID_BYTES];
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_false(export_debug_id(id, texts[i]));
        assert_string_equal(id, "");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(ids), cmocka_unit_test(none)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
