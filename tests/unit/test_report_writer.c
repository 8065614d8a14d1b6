/* SPDX-License-Identifier: MIT
 *
 * What the writer says, read back by jansson. That its form is the schema's is tests/cli/test_schema.py's
 * matter.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"
#include "report/writer.h"

#define MODULE_LO 0x10000u
#define MODULE_BIAS 0x8000u

static char out[1024 * 1024];
static size_t used;
static long room; /* the sink's */
static struct hd_report_scratch *scratch;
static struct hd_modules modules;
static struct hd_tree_pool pool;
static struct hd_tree tree;
static struct hd_report report;
static struct hd_timeline_entry timeline[4];

static int collect(void *ctx, const char *bytes, size_t n) {
    (void)ctx;
    if ((long)(used + n) > room) {
        return -ENOSPC;
    }
    memcpy(out + used, bytes, n);
    used += n;
    return 0;
}

static const struct {
    const char *path;
    uint64_t lo;
} files[] = {{"/bin/unused", 0x1000}, {"/lib/second.so", 0x20000}, {"/bin/first", MODULE_LO}};

static int find_module(struct hd_modules *m, uint64_t pc, struct hd_module *module, char *path, size_t n) {
    (void)m;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (pc - files[i].lo >= 0x1000) {
            continue;
        }
        module->lo = files[i].lo;
        module->hi = files[i].lo + 0x1000;
        module->bias = MODULE_BIAS;
        module->build_id[0] = 0xab;
        module->build_id_bytes = 2;
        snprintf(path, n, "%s", files[i].path);
        return 0;
    }
    return -ENOENT;
}

static int fresh(void **state) {
    (void)state;
    memset(&modules, 0, sizeof modules);
    modules.find = find_module;
    assert_true(hd_modules_at(&modules, 0x1000) >= 0); /* known, and in no frame */
    hd_tree_pool_init(&pool);
    hd_tree_init(&tree, &pool);
    memset(timeline, 0, sizeof timeline);
    report = (struct hd_report){.complete = true,
                                .cpu_percent = -1,
                                .tree = &tree,
                                .modules = &modules,
                                .timeline = timeline,
                                .timeline_size = 4,
                                .started_ns = 1000};
    used = 0;
    room = sizeof out;
    if (scratch == NULL) {
        scratch = malloc(hd_report_scratch_bytes());
    }
    memset(scratch, 0xa5, hd_report_scratch_bytes()); /* the writer initialises it */
    return scratch == NULL;
}

static json_t *written(void) {
    used = 0;
    assert_int_equal(hd_report_write(&report, scratch, (struct hd_sink){.put = collect}), 0);
    assert_int_equal(out[used - 1], '\n');
    json_t *document = json_loadb(out, used, 0, NULL);
    assert_non_null(document);
    return document;
}

static struct hd_frame frame(uint64_t start, uint64_t offset, enum hd_trust trust) {
    return (struct hd_frame){.pc = start + offset, .start = start, .trust = (uint8_t)trust};
}

static uint32_t add_sample(uint64_t function, uint64_t ns) {
    struct hd_frame frames[] = {frame(function, 4, HD_TRUST_CONTEXT),
                                frame(MODULE_LO + 0x100, 8, HD_TRUST_CFI)};
    uint32_t leaf = hd_tree_add(&tree, frames, 2, report.timeline_count + 1);
    hd_tree_charge(&tree, leaf, ns);
    return leaf;
}

static const char *text_at(const json_t *object, const char *name) {
    const char *text = json_string_value(json_object_get(object, name));
    return text != NULL ? text : "(missing)";
}

static void frames_have_module_and_offset_by_the_load_bias(void **state) {
    (void)state;
    add_sample(0x20010, 5);
    json_t *d = written();
    const json_t *frames = json_object_get(json_object_get(d, "hot_stack"), "frames");
    const json_t *inner = json_array_get(frames, 0), *outer = json_array_get(frames, 1);
    assert_string_equal(text_at(inner, "pc"), "0x20014");
    assert_string_equal(text_at(inner, "offset"), "0x18014");
    assert_string_equal(text_at(inner, "start"), "0x18010");
    assert_string_equal(text_at(inner, "trust"), "context");
    assert_string_equal(text_at(outer, "trust"), "cfi");
    const json_t *list = json_object_get(d, "modules");
    assert_int_equal(json_array_size(list), 2); /* only those that frames are in */
    const json_t *module = json_array_get(list, (size_t)json_integer_value(json_object_get(inner, "module")));
    assert_string_equal(text_at(module, "path"), "/lib/second.so");
    assert_string_equal(text_at(module, "base"), "0x20000");
    assert_string_equal(text_at(module, "build_id"), "ab00");
    json_decref(d);
}

static void a_return_address_belongs_to_the_module_of_its_call(void **state) {
    (void)state;
    struct hd_frame last = {.pc = 0x21000,
                            .trust = HD_TRUST_CFI}; /* just behind the module: a call that never returns */
    hd_tree_charge(&tree, hd_tree_add(&tree, &last, 1, 1), 1);
    json_t *d = written();
    assert_string_equal(text_at(json_array_get(json_object_get(d, "modules"), 0), "path"), "/lib/second.so");
    json_decref(d);
}

static void an_address_of_no_module_has_no_offset(void **state) {
    (void)state;
    struct hd_frame jit = {.pc = 0x999999, .trust = HD_TRUST_FRAME_POINTER};
    hd_tree_charge(&tree, hd_tree_add(&tree, &jit, 1, 1), 1);
    json_t *d = written();
    const json_t *f = json_array_get(json_object_get(json_object_get(d, "hot_stack"), "frames"), 0);
    assert_null(json_object_get(f, "module"));
    assert_null(json_object_get(f, "offset"));
    assert_null(json_object_get(d, "modules"));
    json_decref(d);
}

static void the_timeline_is_in_order_and_refers_to_its_stacks(void **state) {
    (void)state;
    uint32_t a = add_sample(0x20010, 5), b = add_sample(0x20030, 5);
    const uint32_t leaves[] = {b, HD_TREE_NONE, a, b};
    report.timeline_first = 3;
    report.timeline_count = 4;
    for (uint32_t i = 0; i < 4; i++) {
        timeline[(3 + i) % 4] = (struct hd_timeline_entry){.at_ns = 900 + 100 * (uint64_t)i,
                                                           .for_ns = i,
                                                           .leaf = leaves[i],
                                                           .state = HD_RUN_BLOCKED,
                                                           .syscall_nr = 1};
    }
    timeline[2].state = HD_RUN_RUNNING;
    json_t *d = written();
    const json_t *samples = json_object_get(d, "samples"), *line = json_object_get(samples, "timeline");
    assert_int_equal(json_array_size(json_object_get(samples, "stacks")), 2);
    assert_int_equal(json_array_size(line), 4);
    static const int64_t at[] = {0, 0, 100, 200}, stack[] = {0, -1, 1, 0};
    for (size_t i = 0; i < 4; i++) {
        const json_t *entry = json_array_get(line, i), *index = json_object_get(entry, "stack");
        assert_int_equal(json_integer_value(json_object_get(entry, "at_ns")), at[i]);
        assert_int_equal(index == NULL ? -1 : json_integer_value(index), stack[i]);
        assert_int_equal(json_object_get(entry, "syscall") != NULL, i < 3);
    }
    json_decref(d);
}

static void the_trees_parents_come_first_and_functions_once(void **state) {
    (void)state;
    for (uint64_t i = 0; i < 200; i++) {
        struct hd_frame frames[6];
        for (uint64_t k = 0; k < 6; k++) {
            frames[k] = frame(0x20000 + 16 * ((i * 7 + k * k * 3) % 40), 1, HD_TRUST_CFI);
        }
        hd_tree_charge(&tree, hd_tree_add(&tree, frames, 6, i), i);
    }
    json_t *d = written();
    const json_t *t = json_object_get(json_object_get(d, "samples"), "tree"),
                 *nodes = json_object_get(t, "nodes");
    const json_t *frames = json_object_get(t, "frames");
    assert_int_equal(json_array_size(nodes), tree.nodes);
    assert_int_equal(json_array_size(frames), 40);
    uint64_t roots_ns = 0;
    for (size_t i = 0; i < json_array_size(nodes); i++) {
        const json_t *n = json_array_get(nodes, i);
        int64_t parent = json_integer_value(json_object_get(n, "parent"));
        assert_true(parent >= -1 && parent < (int64_t)i);
        assert_true(json_integer_value(json_object_get(n, "frame")) < 40);
        if (parent == -1) {
            roots_ns += (uint64_t)json_integer_value(json_object_get(n, "time_ns"));
        }
    }
    assert_int_equal(roots_ns, tree.time_ns);
    json_decref(d);
}

static void a_full_pool_is_written(void **state) {
    (void)state;
    struct hd_frame frames[2] = {{0}, frame(MODULE_LO, 1, HD_TRUST_CFI)};
    for (uint64_t i = 0; i < HD_TREE_POOL_NODES + 5; i++) {
        frames[0] = frame(0x1000000 + i * 64, 1, HD_TRUST_CFI);
        hd_tree_charge(&tree, hd_tree_add(&tree, frames, 2, i), 1);
    }
    json_t *d = written();
    const json_t *t = json_object_get(json_object_get(d, "samples"), "tree");
    assert_int_equal(json_array_size(json_object_get(t, "nodes")), HD_TREE_POOL_NODES);
    assert_int_equal(json_array_size(json_object_get(t, "frames")), HD_TREE_POOL_NODES);
    json_decref(d);
}

static void a_brief_report_has_no_samples_and_no_threads(void **state) {
    (void)state;
    const struct hd_thread_record thread = {.thread = {5}, .cpu_percent = -1};
    add_sample(0x20010, 5);
    report.threads = &thread;
    report.thread_records = 1;
    report.repeat_of[0] = 0xfe;
    json_t *d = written();
    assert_non_null(json_object_get(d, "threads"));
    assert_non_null(json_object_get(d, "samples"));
    json_decref(d);
    report.brief = true;
    d = written();
    assert_null(json_object_get(d, "threads"));
    assert_null(json_object_get(d, "samples"));
    assert_non_null(json_object_get(d, "hot_stack"));
    assert_string_equal(text_at(d, "repeat_of"), "fe000000-0000-0000-0000-000000000000");
    json_decref(d);
}

static void shares_are_of_the_sampled_time(void **state) {
    (void)state;
    add_sample(0x20010, 30);
    add_sample(0x20030, 10);
    json_t *d = written();
    const json_t *hot = json_object_get(d, "hot_stack"), *frames = json_object_get(hot, "frames");
    assert_true(json_number_value(json_object_get(hot, "share")) == 0.75);
    assert_true(json_number_value(json_object_get(json_array_get(frames, 0), "share")) == 0.75);
    assert_true(json_number_value(json_object_get(json_array_get(frames, 1), "share")) == 1);
    assert_int_equal(json_integer_value(json_object_get(hot, "duration_ns")), 30);
    json_decref(d);
}

static void writes_why_no_sample_has_a_stack(void **state) {
    (void)state;
    json_t *d = written();
    assert_null(json_object_get(d, "hot_stack")); /* no samples */
    json_decref(d);
    report.taken = 2;
    report.hot_way = HD_WAY_KERNEL;
    report.hot_stop = HD_STOP_NO_ANSWER;
    d = written();
    const json_t *hot = json_object_get(d, "hot_stack"), *frames = json_object_get(hot, "frames");
    assert_true(json_is_array(frames) && json_array_size(frames) == 0);
    assert_string_equal(text_at(hot, "stop"), "no-answer");
    assert_string_equal(text_at(hot, "capture"), "kernel");
    json_decref(d);
}

static void the_sinks_error_is_returned_at_whatever_byte(void **state) {
    (void)state;
    add_sample(0x20010, 30);
    json_decref(written());
    long whole = (long)used;
    for (room = 0; room < whole; room += 97) {
        used = 0;
        assert_int_equal(hd_report_write(&report, scratch, (struct hd_sink){.put = collect}), -ENOSPC);
    }
}

static void a_report_without_paths_keeps_those_of_the_system(void **state) {
    (void)state;
    static const char kept[][24] = {"/usr/bin/python3", "/lib64/ld.so", "/lib/a.so", "/opt/a/b", "[vdso]"};
    struct hd_report less = {.without_paths = true};
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        assert_string_equal(hd_writer_path(&less, kept[i]), kept[i]);
    }
    assert_string_equal(hd_writer_path(&less, "/home/anna/shop.so"), "shop.so");
    assert_string_equal(hd_writer_path(&less, "/library/anna/shop.so"), "shop.so");
    assert_string_equal(hd_writer_path(&less, "/usrs/anna/shop.so"), "shop.so");
    less.without_paths = false;
    assert_string_equal(hd_writer_path(&less, "/library/anna/shop.so"), "/library/anna/shop.so");
}

#define TEST(f) cmocka_unit_test_setup(f, fresh)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(frames_have_module_and_offset_by_the_load_bias),
        TEST(a_return_address_belongs_to_the_module_of_its_call),
        TEST(an_address_of_no_module_has_no_offset),
        TEST(the_timeline_is_in_order_and_refers_to_its_stacks),
        TEST(the_trees_parents_come_first_and_functions_once),
        TEST(a_full_pool_is_written),
        TEST(a_brief_report_has_no_samples_and_no_threads),
        TEST(shares_are_of_the_sampled_time),
        TEST(writes_why_no_sample_has_a_stack),
        TEST(a_report_without_paths_keeps_those_of_the_system),
        TEST(the_sinks_error_is_returned_at_whatever_byte),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(scratch);
    return failed;
}
