/* SPDX-License-Identifier: MIT
 *
 * Which debug files a report's frames lack, and what is a build-id: it becomes the name of a file.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "collector/report/unnamed.h"

static void a_build_id_is_lower_case_hex(void **state) {
    (void)state;
    static const char *const good[] = {"01234567", "0123456789abcdef", "00000000",
                                       "0011223344556677889900112233445566778899001122334455667788990011"};
    static const char *const bad[] = {"",
                                      "0123456",
                                      "012345678",
                                      "ABCDEF01",
                                      "0123456g",
                                      "../../etc",
                                      "/etc/passwd",
                                      "01234567/",
                                      "01234567.part",
                                      "0x012345",
                                      " 0123456",
                                      "01234567\n",
                                      "\xff\xff\xff\xff",
                                      "001122334455667788990011223344556677889900112233445566778899001122"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_true(unnamed_is_build_id(good[i]));
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (unnamed_is_build_id(bad[i])) {
            fail_msg("%s", bad[i]);
        }
    }
}

static size_t builds_of(const char *text, char out[UNNAMED_BUILDS_MAX][UNNAMED_ID_BYTES]) {
    char copy[4096];
    json_error_t error;
    snprintf(copy, sizeof copy, "%s", text);
    for (char *p = copy; *p != '\0'; p++) {
        *p = *p == '\'' ? '"' : *p;
    }
    json_t *report = json_loads(copy, JSON_DECODE_ANY, &error);
    if (report == NULL) {
        fail_msg("%s: %s", error.text, text);
    }
    size_t count = unnamed_builds(report, out);
    json_decref(report);
    return count;
}

#define MODULES \
    "'modules':[{'path':'/a','build_id':'aaaaaaaa'},{'path':'/b','build_id':'bbbbbbbb'},{'path':'/c'}]"

static void frames_without_a_function_lack_one(void **state) {
    (void)state;
    char ids[UNNAMED_BUILDS_MAX][UNNAMED_ID_BYTES];
    assert_int_equal(
        builds_of("{" MODULES ",'hot_stack':{'frames':[{'module':0},{'module':0},{'module':1,'function':'f'},"
                  "{'module':2},{'pc':'0x1'}]}}",
                  ids),
        1); /* once each; without a build-id or a module no file can help */
    assert_string_equal(ids[0], "aaaaaaaa");
    assert_int_equal(
        builds_of("{" MODULES
                  ",'hot_stack':{'frames':[{'module':1}]},'samples':{'tree':{'frames':[{'module':0},"
                  "{'module':1}]}}}",
                  ids),
        2);
    assert_string_equal(ids[0], "bbbbbbbb"); /* the stack's first */
    assert_string_equal(ids[1], "aaaaaaaa");
}

static void of_other_threads_the_locks_owner_counts(void **state) {
    (void)state;
    char ids[UNNAMED_BUILDS_MAX][UNNAMED_ID_BYTES];
#define THREADS \
    "'threads':[{'tid':7,'stack':{'frames':[{'module':0}]}},{'tid':8,'stack':{'frames':[{'module':1}]}}]"
    assert_int_equal(builds_of("{" MODULES "," THREADS "}", ids), 0);
    assert_int_equal(builds_of("{" MODULES ",'cause':{'lock_owner_tid':8}," THREADS "}", ids), 1);
    assert_string_equal(ids[0], "bbbbbbbb");
    assert_int_equal(builds_of("{" MODULES ",'cause':{'lock_owner_tid':9}," THREADS "}", ids), 0);
    assert_int_equal(builds_of("{" MODULES ",'cause':{'lock_owner_tid':'8'}," THREADS "}", ids), 0);
}

static void no_more_than_there_is_space_for(void **state) {
    (void)state;
    char ids[UNNAMED_BUILDS_MAX + 1][UNNAMED_ID_BYTES];
    json_t *report = json_pack("{s:[],s:{s:[]}}", "modules", "hot_stack", "frames");
    json_t *frames = json_object_get(json_object_get(report, "hot_stack"), "frames");
    for (int i = 0; i < 100; i++) {
        json_array_append_new(
            json_object_get(report, "modules"),
            json_pack("{s:o,s:o}", "build_id", json_sprintf("%08x", i), "path", json_string("/x")));
        json_array_append_new(frames, json_pack("{s:i}", "module", i));
    }
    memset(ids, 'x', sizeof ids);
    assert_int_equal(unnamed_builds(report, ids), UNNAMED_BUILDS_MAX);
    assert_string_equal(ids[UNNAMED_BUILDS_MAX - 1], "00000007");
    assert_int_equal(ids[UNNAMED_BUILDS_MAX][0], 'x');
    json_decref(report);
}

static void members_of_other_types_lack_nothing(void **state) {
    (void)state;
    static const char *const odd[] = {
        "null",
        "7",
        "'x'",
        "[]",
        "[7]",
        "{}",
        "{'frames':7}",
        "{'frames':[7,null,[]]}",
        "{'frames':[{'module':-1},{'module':99},{'module':1e300},{'module':'0'}]}"};
    char ids[UNNAMED_BUILDS_MAX][UNNAMED_ID_BYTES], text[1024];
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        assert_int_equal(builds_of(odd[i], ids), 0);
        snprintf(text, sizeof text,
                 "{" MODULES ",'hot_stack':%s,'samples':{'tree':%s},'threads':%s,'cause':%s}", odd[i], odd[i],
                 odd[i], odd[i]);
        assert_int_equal(builds_of(text, ids), 0);
        snprintf(text, sizeof text, "{'modules':%s,'hot_stack':{'frames':[{'module':0}]}}", odd[i]);
        assert_int_equal(builds_of(text, ids), 0);
        snprintf(text, sizeof text,
                 "{'modules':[{'path':'/a','build_id':%s}],'hot_stack':{'frames':[{'module':0}]}}", odd[i]);
        assert_int_equal(builds_of(text, ids), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_build_id_is_lower_case_hex),
        cmocka_unit_test(frames_without_a_function_lack_one),
        cmocka_unit_test(of_other_threads_the_locks_owner_counts),
        cmocka_unit_test(no_more_than_there_is_space_for),
        cmocka_unit_test(members_of_other_types_lack_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
