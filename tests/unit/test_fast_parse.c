/* SPDX-License-Identifier: MIT
 *
 * The fast way and the slow way agree: what the fast one takes, the slow one takes, and reads as the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/built_in.h"
#include "collector/report/fast_parse.h"
#include "collector/report/schema.h"
#include "collector/report/schema_rule.h"

#define CHANGES 300000

static json_t *schema;
static const struct schema_rule *rule;

static const char report[] =
    "{\"format\":\"hangdog-report/1\",\"id\":\"00000000-0000-7000-8000-000000000001\",\"kind\":\"hang\","
    "\"complete\":true,\"started_at\":\"2026-01-05T10:00:00.120Z\",\"duration_ns\":1234567890123,"
    "\"app\":{\"name\":\"shop\",\"version\":\"1.4\",\"pid\":71},\"host\":{\"os\":\"linux\",\"arch\":\"x86_64\"},"
    "\"process\":{\"cpu_percent\":12.375,\"rss_bytes\":123456789},\"loop\":{\"name\":\"main\",\"tid\":71},"
    "\"cause\":{\"kind\":\"lock\",\"share\":0.5,\"%s\":%s},\"hot_stack\":{\"frames\":[{\"pc\":\"0x55cf\","
    "\"module\":0,\"offset\":\"0x1f\",\"function\":\"save\",\"line\":7,\"share\":0.25}],\"stop\":\"root\"},"
    "\"threads\" : [{\"tid\":72,\"name\":\"worker\",\"stack\":{\"frames\":[{\"pc\":\"0x1\"}]}}],\n"
    "\"modules\":[{\"path\":\"/opt/shop\",\"base\":\"0x1000\",\"size\":4096,\"build_id\":\"aa\"}]}";

static size_t report_with(char *to, size_t size, const char *name, const char *value) {
    return (size_t)snprintf(to, size, report, name, value);
}

static json_t *slow_parse(const char *text, size_t bytes) {
    struct schema_fault fault;
    json_t *value = schema_is_too_much(text, bytes, &fault)
                        ? NULL
                        : json_loadb(text, bytes, JSON_REJECT_DUPLICATES, NULL);
    if (value != NULL && !schema_fits(schema, value, &fault)) {
        json_decref(value);
        value = NULL;
    }
    return value;
}

static void takes_a_report_without_unneeded_threads(void **state) {
    (void)state;
    char text[2048];
    size_t bytes = report_with(text, sizeof text, "share", "0.5"); /* a member twice */
    assert_null(fast_parse(rule, text, bytes));
    bytes = report_with(text, sizeof text, "syscall", "\"futex\"");
    json_t *fast = fast_parse(rule, text, bytes), *slow = slow_parse(text, bytes);
    assert_non_null(fast);
    assert_null(json_object_get(fast, "threads"));
    json_object_del(slow, "threads");
    assert_true(json_equal(fast, slow));
    json_decref(fast);
    json_decref(slow);
}

static void keeps_threads_that_a_cause_refers_to(void **state) {
    (void)state;
    static const char *const causes[][2] = {{"lock_owner_tid", "72"}, {"deadlock", "[71, 72]"}};
    for (size_t i = 0; i < 2; i++) {
        char text[2048];
        size_t bytes = report_with(text, sizeof text, causes[i][0], causes[i][1]);
        json_t *fast = fast_parse(rule, text, bytes), *slow = slow_parse(text, bytes);
        assert_non_null(fast);
        assert_true(json_equal(fast, slow));
        json_decref(fast);
        json_decref(slow);
    }
}

static void leaves_what_it_does_not_know(void **state) {
    (void)state;
    static const char *const values[][2] = {{"syscall", "7"},
                                            {"syscall", "\"f\\u0000tex\""},
                                            {"syscall", "\"f\\ud800tex\""},
                                            {"syscall", "\"f\\udc00\\ud800tex\""},
                                            {"syscall", "\"f\\u00g0tex\""},
                                            {"syscall", "\"f\\xtex\""},
                                            {"syscall", "\"f\xc3tex\""},
                                            {"syscall", "\"f\xed\xa0\x80tex\""},
                                            {"syscall", "\"f\xc0\xaftex\""},
                                            {"syscall", "\"f\xf4\x90\x80\x80tex\""},
                                            {"syscall", "\"f\x1ftex\""},
                                            {"lock_address", "\"0x1234567890123456f\""},
                                            {"share", "1e-1"},
                                            {"lock_owner_tid", "12345678901234567890"},
                                            {"lock_owner_tid", "99999999999999999999"},
                                            {"share", "9999999999999999999.9999999999999999999"},
                                            {"lock_owner_tid", "01"},
                                            {"lock_owner_tid", "72,"},
                                            {"lock_owner_tid", "72}"},
                                            {"lock_owner_tid", "1.5"},
                                            {"unheard_of", "1"},
                                            {"lock_owner_tid", "null"},
                                            {"lock_owner_tid", "-0"}};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char text[2048];
        size_t bytes = report_with(text, sizeof text, values[i][0], values[i][1]);
        assert_null(fast_parse(rule, text, bytes));
    }
}

static void takes_texts_of_any_characters(void **state) {
    (void)state;
    static const char *const texts[] = {
        "\"f\\u0075tex\"",
        "\"f\xc3\xbctex \xe2\x82\xac \xf0\x9f\x90\xb6\"",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00fC\\u20ac\\ud83D\\uDC36\"",
        "\"\x7f\\u001f\"",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char text[2048];
        size_t bytes = report_with(text, sizeof text, "syscall", texts[i]);
        json_t *fast = fast_parse(rule, text, bytes), *slow = slow_parse(text, bytes);
        assert_non_null(fast);
        json_object_del(slow, "threads");
        assert_true(json_equal(fast, slow));
        json_decref(fast);
        json_decref(slow);
    }
}

static void takes_tags(void **state) {
    (void)state;
    static const char tags[] = "\"pid\":71,\"tags\":{\"a\":\"1\",\"\\u00e4\":\"2\"}";
    char text[2048], with[2048];
    report_with(text, sizeof text, "syscall", "\"futex\"");
    char *pid = strstr(text, "\"pid\":71");
    size_t bytes = (size_t)snprintf(with, sizeof with, "%.*s%s%s", (int)(pid - text), text, tags,
                                    pid + strlen("\"pid\":71"));
    json_t *fast = fast_parse(rule, with, bytes), *slow = slow_parse(with, bytes);
    assert_non_null(fast);
    json_object_del(slow, "threads");
    assert_true(json_equal(fast, slow));
    json_decref(fast);
    json_decref(slow);
}

/* Both ways agree on the limits of the schema: characters of a text, items of a list. */
static void limits_of_the_schema(void **state) {
    (void)state;
    for (int more = 0; more < 2; more++) {
        char value[8192] = "[1", text[16384];
        size_t used = strlen(value);
        for (int i = 1; i < 64 + more; i++) {
            used += (size_t)snprintf(value + used, sizeof value - used, ",1");
        }
        snprintf(value + used, sizeof value - used, "]");
        size_t bytes = report_with(text, sizeof text, "deadlock", value);
        json_t *fast = fast_parse(rule, text, bytes), *slow = slow_parse(text, bytes);
        assert_true((fast != NULL) == (more == 0));
        assert_true((slow != NULL) == (more == 0));
        json_decref(fast);
        json_decref(slow);
        snprintf(value, sizeof value, "\"0x%016x%s\"", 1, more ? "0" : "");
        bytes = report_with(text, sizeof text, "lock_address", value);
        fast = fast_parse(rule, text, bytes), slow = slow_parse(text, bytes);
        assert_true((fast != NULL) == (more == 0));
        assert_true((slow != NULL) == (more == 0));
        json_decref(fast);
        json_decref(slow);
    }
}

static void leaves_a_report_that_lacks_a_member(void **state) {
    (void)state;
    char text[2048];
    size_t bytes = report_with(text, sizeof text, "lock_owner_tid", "72");
    char *member = strstr(text, "\"complete\":true,");
    size_t length = strlen("\"complete\":true,");
    memmove(member, member + length, bytes - (size_t)(member - text) - length);
    assert_null(slow_parse(text, bytes - length));
    assert_null(fast_parse(rule, text, bytes - length));
}

static uint32_t next_random(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33);
}

/* Bytes are changed, taken out, doubled; the copy is exact, so that a sanitizer sees a read beyond it. */
static size_t change(char *text, size_t bytes, uint64_t *state) {
    static const char bytes_of_json[] = "{}[]\",:0123456789.-+eEtfnu\\ \n\x80\x1f";
    size_t at = next_random(state) % bytes, length = 1 + next_random(state) % 8;
    length = at + length > bytes ? bytes - at : length;
    switch (next_random(state) % 3) {
    case 0:
        text[at] = bytes_of_json[next_random(state) % (sizeof bytes_of_json - 1)];
        return bytes;
    case 1:
        memmove(text + at, text + at + length, bytes - at - length);
        return bytes - length;
    default:
        memmove(text + at + length, text + at, bytes - at);
        return bytes + length;
    }
}

static void agrees_with_the_slow_way_on_changed_texts(void **state) {
    (void)state;
    uint64_t random = 1;
    int taken = 0;
    for (int i = 0; i < CHANGES; i++) {
        char text[2048];
        size_t bytes = report_with(text, sizeof text, "lock_owner_tid", "72");
        bytes = change(text, bytes, &random);
        char *exact = malloc(bytes);
        memcpy(exact, text, bytes);
        json_t *fast = fast_parse(rule, exact, bytes);
        if (fast != NULL) {
            json_t *slow = slow_parse(exact, bytes);
            if (slow == NULL || json_object_get(json_object_get(fast, "cause"), "lock_owner_tid") == NULL) {
                json_object_del(slow, "threads");
            }
            if (slow == NULL || !json_equal(fast, slow)) {
                fail_msg("the two ways differ: %.*s", (int)bytes, exact);
            }
            json_decref(slow);
            json_decref(fast);
            taken++;
        }
        free(exact);
    }
    assert_in_range(taken, CHANGES / 10, CHANGES); /* else nothing was compared */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(takes_a_report_without_unneeded_threads),
                                       cmocka_unit_test(keeps_threads_that_a_cause_refers_to),
                                       cmocka_unit_test(takes_texts_of_any_characters),
                                       cmocka_unit_test(takes_tags),
                                       cmocka_unit_test(limits_of_the_schema),
                                       cmocka_unit_test(leaves_what_it_does_not_know),
                                       cmocka_unit_test(leaves_a_report_that_lacks_a_member),
                                       cmocka_unit_test(agrees_with_the_slow_way_on_changed_texts)};
    schema = built_in_schema();
    rule = schema_rule_of(schema);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    json_decref(schema);
    return failed;
}
