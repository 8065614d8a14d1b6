/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "os/os.h"
#include "record/uuid.h"
#include "report/json.h"

static char out[64 * 1024];
static size_t used;
static int puts_until_error; /* < 0: never */

static int collect(void *ctx, const char *bytes, size_t n) {
    (void)ctx;
    if (puts_until_error == 0) {
        return -ENOSPC;
    }
    puts_until_error--;
    assert_true(used + n < sizeof out);
    memcpy(out + used, bytes, n);
    used += n;
    out[used] = 0;
    return 0;
}

static const struct hd_sink sink = {.put = collect};

static struct hd_json *begin(size_t buffer_bytes) {
    static struct hd_json j;
    static char buffer[64];
    used = 0;
    out[0] = 0;
    puts_until_error = -1;
    hd_json_init(&j, buffer, buffer_bytes, sink);
    return &j;
}

static void assert_string(const char *s, size_t n, const char *expected) {
    for (size_t size = 1; size <= 16; size++) { /* however the pieces fall into the buffer */
        struct hd_json *j = begin(size);
        hd_json_mem(j, NULL, s, n);
        assert_int_equal(hd_json_finish(j), 0);
        assert_int_equal(used, strlen(expected) + 1);
        assert_memory_equal(out, expected, used - 1);
    }
}

static void strings_are_escaped(void **state) {
    (void)state;
    assert_string("", 0, "\"\"");
    assert_string("plain", 5, "\"plain\"");
    assert_string("a\"b\\c/", 6, "\"a\\\"b\\\\c/\"");
    assert_string("\n\t\x01\x1f\x7f", 5, "\"\\u000a\\u0009\\u0001\\u001f\\u007f\"");
    assert_string("a\0b", 3, "\"a\\u0000b\"");
}

static void good_utf8_stays(void **state) {
    (void)state;
    static const char *const good[] = {"caf\xc3\xa9",  "\xe2\x82\xac", "\xf0\x9f\x98\x80",
                                       "\xed\x9f\xbf", "\xee\x80\x80", "\xf4\x8f\xbf\xbf",
                                       "\xc2\x80",     "\xe0\xa0\x80", "\xf0\x90\x80\x80"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        char expected[32];
        snprintf(expected, sizeof expected, "\"%s\"", good[i]);
        assert_string(good[i], strlen(good[i]), expected);
    }
}

/* Replacement of a bad byte is one character, whatever stood around it. */
static void bad_utf8_becomes_replacement_characters(void **state) {
    (void)state;
    assert_string("\xff", 1, "\"\\ufffd\"");
    assert_string("a\xc3", 2, "\"a\\ufffd\"");
    assert_string("\xe2\x82", 2, "\"\\ufffd\\ufffd\"");
    assert_string("\xe2\x28\xa1", 3, "\"\\ufffd(\\ufffd\"");
    assert_string("\xc0\x80", 2, "\"\\ufffd\\ufffd\"");                       /* overlong */
    assert_string("\xe0\x80\x80", 3, "\"\\ufffd\\ufffd\\ufffd\"");            /* overlong */
    assert_string("\xf0\x80\x80\x80", 4, "\"\\ufffd\\ufffd\\ufffd\\ufffd\""); /* overlong */
    assert_string("\xed\xa0\x80", 3, "\"\\ufffd\\ufffd\\ufffd\"");            /* surrogate */
    assert_string("\xf4\x90\x80\x80", 4, "\"\\ufffd\\ufffd\\ufffd\\ufffd\""); /* beyond U+10FFFF */
    assert_string("\x80z", 2, "\"\\ufffdz\"");
}

static void commas_and_names_are_put_by_themselves(void **state) {
    (void)state;
    struct hd_json *j = begin(7);
    hd_json_object(j, NULL);
    hd_json_u64(j, "a", 1);
    hd_json_array(j, "b");
    hd_json_end_array(j);
    hd_json_array(j, "c");
    hd_json_i64(j, NULL, -1);
    hd_json_object(j, NULL);
    hd_json_end_object(j);
    hd_json_bool(j, NULL, true);
    hd_json_end_array(j);
    hd_json_str(j, "left out", NULL);
    hd_json_fixed(j, "d", 0.5, 2);
    hd_json_hex(j, "e", 255);
    hd_json_hex_bytes(j, "f", (const uint8_t *)"\x01\xab", 2);
    hd_json_end_object(j);
    assert_int_equal(hd_json_finish(j), 0);
    assert_string_equal(out,
                        "{\"a\":1,\"b\":[],\"c\":[-1,{},true],\"d\":0.50,\"e\":\"0xff\",\"f\":\"01ab\"}\n");
}

static void limits_numbers_to_63_bits(void **state) {
    (void)state;
    struct hd_json *j = begin(64);
    hd_json_u64(j, NULL, UINT64_MAX);
    assert_int_equal(hd_json_finish(j), 0);
    assert_string_equal(out, "9223372036854775807\n");
}

static void the_sinks_first_error_ends_the_writing(void **state) {
    (void)state;
    struct hd_json *j = begin(4);
    puts_until_error = 1;
    hd_json_str(j, NULL, "a longer text than the buffer holds");
    assert_int_equal(hd_json_finish(j), -ENOSPC);
    assert_int_equal(used, 4);
}

/* ---- ids ---------------------------------------------------------------------------------- */

static void an_id_has_its_time_version_and_variant(void **state) {
    (void)state;
    uint8_t id[HD_UUID_BYTES];
    char text[37];
    uint64_t ms = 0x0123456789ab;
    hd_uuid_make(id, ms * HD_NS_PER_MS);
    hd_uuid_text(id, text);
    assert_int_equal(strlen(text), 36);
    assert_memory_equal(text, "01234567-89ab-7", 15);
    assert_non_null(strchr("89ab", text[19]));
}

/* Both are of the variant. */
static void an_id_shows_a_session_report(void **state) {
    (void)state;
    uint8_t id[HD_UUID_BYTES];
    char text[37];
    for (int i = 0; i < 100; i++) {
        hd_uuid_make(id, 5000);
        hd_uuid_text(id, text);
        assert_true(text[19] == '8' || text[19] == '9');
        hd_uuid_make_session(id, 5000);
        hd_uuid_text(id, text);
        assert_true(text[19] == 'a' || text[19] == 'b');
    }
}

static long no_random(void *buf, size_t n) {
    (void)buf, (void)n;
    return -ENOSYS;
}

static void assert_ids_increase(void) {
    uint8_t last[HD_UUID_BYTES], id[HD_UUID_BYTES];
    hd_uuid_make(last, 5000);
    for (int i = 0; i < 10000; i++) {
        hd_uuid_make(id, i % 3 == 0 ? 4000 : 6000); /* a clock that stands still, or is set back */
        assert_true(memcmp(last, id, sizeof id) < 0);
        memcpy(last, id, sizeof id);
    }
}

static void ids_increase_whatever_the_clock_does(void **state) {
    (void)state;
    assert_ids_increase();
    struct hd_os_calls saved = hd_os;
    hd_os.get_random = no_random;
    assert_ids_increase();
    hd_os = saved;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_are_escaped),
        cmocka_unit_test(good_utf8_stays),
        cmocka_unit_test(bad_utf8_becomes_replacement_characters),
        cmocka_unit_test(commas_and_names_are_put_by_themselves),
        cmocka_unit_test(limits_numbers_to_63_bits),
        cmocka_unit_test(the_sinks_first_error_ends_the_writing),
        cmocka_unit_test(an_id_has_its_time_version_and_variant),
        cmocka_unit_test(an_id_shows_a_session_report),
        cmocka_unit_test(ids_increase_whatever_the_clock_does),
    };
    hd_os_clock_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
