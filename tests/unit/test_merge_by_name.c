/* SPDX-License-Identifier: MIT
 *
 * A call tree whose run-time code got names: what is one function becomes one, no time is lost, and a tree
 * that is damaged is left as it is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>

#include "cli/reader/merge_by_name.h"

#define FRAMES                                                                                                         \
    "[{'pc':'0x1','module':0,'start':'0x1','function':'main'},"                                                        \
    "{'pc':'0x10','function':'tick','file':'/a.js','line':3},{'pc':'0x20','function':'tick','file':'/a.js','line':3}," \
    "{'pc':'0x30','function':'tick','file':'/b.js','line':3},{'pc':'0x40'}]"

static json_t *report_of(const char *frames, const char *nodes) {
    char text[4096];
    snprintf(
        text, sizeof text,
        "{'hot_stack':{'frames':[{'pc':'0x30','share':0.3},{'pc':'0x9','module':0,'start':'0x1','share':0.5}],"
        "'samples':3},'samples':{'tree':{'frames':%s,'nodes':%s}}}",
        frames, nodes);
    for (char *p = text; *p != 0; p++) {
        *p = *p == '\'' ? '"' : *p;
    }
    json_error_t error;
    json_t *report = json_loads(text, 0, &error);
    assert_non_null(report);
    return report;
}

static const json_t *nodes_of(const json_t *report) {
    return json_object_get(json_object_get(json_object_get(report, "samples"), "tree"), "nodes");
}

static void check_hot(const json_t *report, size_t i, const char *pc, double share) {
    const json_t *frames = json_object_get(json_object_get(report, "hot_stack"), "frames");
    const json_t *frame = json_array_get(frames, i);
    assert_string_equal(json_string_value(json_object_get(frame, "pc")), pc);
    assert_true(json_number_value(json_object_get(frame, "share")) - share < 1e-9);
    assert_true(share - json_number_value(json_object_get(frame, "share")) < 1e-9);
}

static void addresses_of_one_function_become_one_node_with_all_the_time(void **state) {
    (void)state;
    json_t *report = report_of(FRAMES, "[{'frame':0,'parent':-1,'time_ns':100,'samples':10},"
                                       "{'frame':1,'parent':0,'time_ns':30,'samples':3},"
                                       "{'frame':3,'parent':0,'time_ns':40,'samples':4},"
                                       "{'frame':2,'parent':0,'time_ns':30,'samples':3},"
                                       "{'frame':4,'parent':3,'time_ns':5,'samples':1}]");
    jit_tree_merge(report);
    assert_int_equal(json_array_size(nodes_of(report)), 4);
    const json_t *tick = json_array_get(nodes_of(report), 1);
    assert_int_equal(json_integer_value(json_object_get(tick, "time_ns")), 60);
    assert_int_equal(json_integer_value(json_object_get(tick, "samples")), 6);
    /* one address had 40 %, the function has 60; the hang was twice as long as its samples with a stack */
    check_hot(report, 1, "0x9", 0.5);
    check_hot(report, 0, "0x10", 0.3);
    const json_t *hot = json_object_get(report, "hot_stack");
    assert_int_equal(json_array_size(json_object_get(hot, "frames")), 2);
    assert_int_equal(json_integer_value(json_object_get(hot, "duration_ns")), 60);
    assert_int_equal(json_integer_value(json_object_get(hot, "samples")), 6);
    json_decref(report);
}

static void what_is_damaged_or_has_nothing_to_merge_is_left_as_it_is(void **state) {
    (void)state;
    static const char *const nodes[] = {
        "[]",
        "null",
        "7",
        "[{'frame':5,'parent':-1,'time_ns':1}]",
        "[{'frame':-1,'parent':-1,'time_ns':1}]",
        "[{'frame':0,'parent':0,'time_ns':1}]",
        "[{'frame':0,'parent':-2,'time_ns':1}]",
        "[{'frame':0,'parent':-1,'time_ns':1},{'frame':1,'parent':2,'time_ns':1},{'frame':1,'parent':1,'time_ns':1}]",
        "[{'frame':0,'time_ns':1}]",
        "[null,7,'x']",
    };
    for (size_t i = 0; i < 2 * sizeof nodes / sizeof nodes[0]; i++) {
        json_t *report = report_of(i % 2 ? FRAMES : "[]", nodes[i / 2]), *before = json_deep_copy(report);
        jit_tree_merge(report);
        assert_true(json_equal(json_object_get(report, "hot_stack"), json_object_get(before, "hot_stack")));
        if (json_array_size(nodes_of(before)) != 0) {
            assert_true(json_equal(report, before));
        }
        json_decref(report);
        json_decref(before);
    }
    json_t *empty = json_object();
    jit_tree_merge(empty);
    assert_int_equal(json_object_size(empty), 0);
    json_decref(empty);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_of_one_function_become_one_node_with_all_the_time),
        cmocka_unit_test(what_is_damaged_or_has_nothing_to_merge_is_left_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
