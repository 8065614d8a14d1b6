/* SPDX-License-Identifier: MIT
 *
 * DSNs: the address and the key, and what is none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "uploader/export_send.h"

static void assert_dsn(const char *dsn, const char *address, const char *key) {
    struct sentry_dsn d;
    assert_true(export_send_parse_dsn(dsn, &d));
    assert_string_equal(d.address, address);
    assert_string_equal(d.key, key);
}

static void addresses(void **state) {
    (void)state;
    assert_dsn("https://abc123@o1.example.org/42", "https://o1.example.org/api/42/envelope/", "abc123");
    assert_dsn("http://abc:secret@127.0.0.1:9000/7/", "http://127.0.0.1:9000/api/7/envelope/", "abc");
    assert_dsn("https://k@example.org/sentry/here/9", "https://example.org/sentry/here/api/9/envelope/", "k");
    assert_dsn("http://k@[::1]:9000/1", "http://[::1]:9000/api/1/envelope/", "k");
}

static void none(void **state) {
    static const char *const texts[] = {"",
                                        "https://example.org/42",
                                        "https://@example.org/42",
                                        "https://k@example.org",
                                        "https://k@example.org/",
                                        "https://k@/42",
                                        "ftp://k@example.org/42",
                                        "https://k\r\nX: y@example.org/42",
                                        "https://k@example.org/42\r\nX: y",
                                        "https://k@exam ple.org/42",
                                        "https://k@example.org@evil.org/42",
                                        "https://k@example.org/?a=/42"};
    struct sentry_dsn d;
    char text[2 * SENTRY_DSN_BYTES];
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (export_send_parse_dsn(texts[i], &d)) {
            fail_msg("%s", texts[i]);
        }
    }
    snprintf(text, sizeof text, "https://k@%0*d/1", 2 * SENTRY_DSN_BYTES - 20, 1);
    assert_false(export_send_parse_dsn(text, &d));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(addresses), cmocka_unit_test(none)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
