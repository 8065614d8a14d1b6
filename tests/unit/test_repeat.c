/* SPDX-License-Identifier: MIT
 *
 * When a hang repeats the one before it, and when two hot stacks have the same fingerprint.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "publish/fingerprint.h"
#include "publish/repeat.h"

static struct hd_repeat before;

static struct hd_report report(uint64_t fingerprint, uint64_t duration_ns) {
    return (struct hd_report){
        .complete = true, .fingerprint = fingerprint, .duration_ns = duration_ns, .id = {7}};
}

static void the_same_stack_repeats_unless_it_took_much_longer(void **state) {
    (void)state;
    struct hd_report r = report(1, 4 * HD_NS_PER_S);
    assert_false(hd_repeat_matches(&before, &r, 5)); /* there is none before */
    hd_repeat_store(&before, &r, 5);
    assert_int_equal(before.id[0], 7);
    assert_true(hd_repeat_matches(&before, &r, 5));
    assert_false(hd_repeat_matches(&before, &r, 6));
    r.duration_ns = 5 * HD_NS_PER_S;
    assert_true(hd_repeat_matches(&before, &r, 5));
    r.duration_ns++;
    assert_false(hd_repeat_matches(&before, &r, 5));
    r = report(2, 1);
    assert_false(hd_repeat_matches(&before, &r, 5));
    r = report(1, 1);
    r.complete = false;
    assert_false(hd_repeat_matches(&before, &r, 5));
}

static void a_stack_that_is_not_known_repeats_no_other(void **state) {
    (void)state;
    struct hd_report r = report(1, 1);
    hd_repeat_store(&before, &r, 0);
    assert_false(hd_repeat_matches(&before, &r, 0));
}

/* A path of functions in no module: JIT code. */
static void jit_code_counts_by_its_place(void **state) {
    (void)state;
    static struct hd_tree_pool pool;
    static struct hd_modules modules;
    static struct hd_scripts scripts;
    struct hd_code code = {.pool = &pool, .modules = &modules, .scripts = &scripts, .executable = ""};
    struct hd_hot_path none = {.count = 0}, path = {.node = {0, 1}, .count = 2};
    struct hd_cause cause = {.kind = HD_CAUSE_CPU};
    hd_modules_init_live(&modules, -1);
    assert_int_equal(hd_fingerprint_of(&code, &none, &cause), 0);
    assert_int_equal(hd_fingerprint_of_stack(&code, &none), 0);
    pool.node[0] = (struct hd_tree_node){.frame = {.pc = 0x10}, .time_ns = 2};
    pool.node[1] = (struct hd_tree_node){.frame = {.pc = 0x20}, .time_ns = 2};
    assert_int_equal(hd_fingerprint_of_stack(&code, &path), 0); /* the innermost may be any function */
    pool.node[1].frame.start = 0x1f;
    uint64_t stack = hd_fingerprint_of_stack(&code, &path);
    assert_true(stack != 0);
    pool.node[0].frame.pc = 0x11;
    assert_true(hd_fingerprint_of_stack(&code, &path) != stack);
    uint64_t print = hd_fingerprint_of(&code, &path, &cause);
    cause.kind = HD_CAUSE_LOCK;
    assert_true(hd_fingerprint_of(&code, &path, &cause) != print);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_stack_repeats_unless_it_took_much_longer),
        cmocka_unit_test(a_stack_that_is_not_known_repeats_no_other),
        cmocka_unit_test(jit_code_counts_by_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
