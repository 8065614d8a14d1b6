/* SPDX-License-Identifier: MIT
 *
 * Rules of hangdog attach: which control group is a unit's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/attach/unit_path.h"

static void units_are_parts_of_a_path(void **state) {
    (void)state;
    static const char version1[] =
        "12:cpu,cpuacct:/system.slice/web.service\n1:name=systemd:/system.slice/web.service\n";
    static const char nested[] = "0::/system.slice/web.service/worker/7\n";
    static const char users[] = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/web.service";
    assert_true(unit_path_has(version1, "web.service"));
    assert_true(unit_path_has(nested, "web.service"));
    assert_true(unit_path_has(users, "web.service"));
    assert_true(unit_path_has(users, "user@1000.service"));
    assert_false(unit_path_has("0::/system.slice/my-web.service\n", "web.service"));
    assert_false(unit_path_has("0::/system.slice/web.service.d\n", "web.service"));
    assert_false(unit_path_has("0::/system.slice/web.services/web.service-x\n", "web.service"));
    assert_false(unit_path_has("", "web.service"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(units_are_parts_of_a_path)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
