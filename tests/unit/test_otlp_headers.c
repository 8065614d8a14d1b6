/* SPDX-License-Identifier: MIT
 *
 * The headers of OTEL_EXPORTER_OTLP_HEADERS, and that none of them ends a request's line.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "uploader/export_send.h"

static void headers(void **state) {
    struct otlp_headers h;
    (void)state;
    export_send_read_headers("api-key=a1,  x-scope = b%20c%3D,Authorization=Basic%20Zm9v", &h);
    assert_int_equal(h.count, 2); /* a name has no space */
    assert_string_equal(h.line[0], "api-key: a1");
    assert_string_equal(h.line[1], "Authorization: Basic Zm9v");
    export_send_read_headers("k=100%,b=%zz%4", &h);
    assert_int_equal(h.count, 2);
    assert_string_equal(h.line[0], "k: 100%");
    assert_string_equal(h.line[1], "b: %zz%4");
}

static void none(void **state) {
    char text[3 * OTLP_HEADER_BYTES];
    struct otlp_headers h;
    (void)state;
    export_send_read_headers(NULL, &h);
    assert_int_equal(h.count, 0);
    export_send_read_headers(",=x,novalue,a=%0d%0aX: y,b=c\r\nX: y", &h);
    assert_int_equal(h.count, 0);
    memset(text, 'a', sizeof text);
    memcpy(text, "k=", 2);
    text[sizeof text - 1] = '\0';
    export_send_read_headers(text, &h);
    assert_int_equal(h.count, 0);
    export_send_read_headers("a=1,a=2,a=3,a=4,a=5,a=6,a=7,a=8,a=9,a=10", &h);
    assert_int_equal(h.count, OTLP_HEADERS_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(headers), cmocka_unit_test(none)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
