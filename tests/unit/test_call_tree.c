/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "report/call_tree.h"

/* A function is a letter; a stack is a text, outermost first. */
#define MAIN "M"

static struct hd_tree_pool pool;
static struct hd_tree tree;

static int fresh(void **state) {
    (void)state;
    hd_tree_pool_init(&pool);
    hd_tree_init(&tree, &pool);
    return 0;
}

static struct hd_frame frame_of(char function, uint64_t offset) {
    return (struct hd_frame){.pc = (uint64_t)function * 0x1000 + offset,
                             .start = (uint64_t)function * 0x1000};
}

static uint32_t add_at(const char *stack, uint64_t at_ns, uint64_t offset) {
    struct hd_frame frames[64];
    uint32_t n = (uint32_t)strlen(stack);
    for (uint32_t i = 0; i < n; i++) {
        frames[i] = frame_of(stack[n - 1 - i], offset);
    }
    return hd_tree_add(&tree, frames, n, at_ns);
}

static uint32_t sample(const char *stack, uint64_t at_ns, uint64_t for_ns) {
    uint32_t leaf = add_at(stack, at_ns, at_ns % 100);
    hd_tree_charge(&tree, leaf, for_ns);
    return leaf;
}

static void assert_hot(const char *expected) {
    uint32_t path[HD_TREE_DEPTH_MAX];
    char text[HD_TREE_DEPTH_MAX + 1] = {0};
    uint32_t n = hd_tree_hot_path(&tree, path, HD_TREE_DEPTH_MAX);
    for (uint32_t i = 0; i < n; i++) {
        text[i] = (char)(pool.node[path[i]].frame.start / 0x1000);
    }
    assert_string_equal(text, expected);
}

static void most_of_the_time_wins_over_the_last_sample(void **state) {
    (void)state;
    for (uint64_t i = 0; i < 8; i++) {
        sample(MAIN "A", i, 10);
    }
    for (uint64_t i = 8; i < 10; i++) {
        sample(MAIN "B", i, 10);
    }
    assert_hot(MAIN "A");
}

static void distinguishes_two_callers_blocked_in_one_function(void **state) {
    (void)state;
    sample(MAIN "Ar", 1, 70);
    sample(MAIN "Br", 2, 10);
    sample(MAIN "Br", 3, 20);
    assert_hot(MAIN "Ar");
}

static void a_caller_of_many_functions_outweighs_one_long_function(void **state) {
    (void)state;
    sample(MAIN "Ap", 1, 20);
    sample(MAIN "Aq", 2, 20);
    sample(MAIN "Ar", 3, 21);
    sample(MAIN "B", 4, 39);
    assert_hot(MAIN "Ar");
}

static void among_equals_the_most_recent_wins(void **state) {
    (void)state;
    sample(MAIN "A", 1, 50);
    sample(MAIN "B", 2, 50);
    assert_hot(MAIN "B");
    sample(MAIN "A", 3, 0);
    assert_hot(MAIN "A");
}

static void the_path_ends_where_own_time_exceeds_any_callees(void **state) {
    (void)state;
    sample(MAIN "A", 1, 51);
    sample(MAIN "Ax", 2, 50);
    sample(MAIN "Ay", 3, 30);
    assert_hot(MAIN "A");
    sample(MAIN "Ax", 4, 1);
    assert_hot(MAIN "Ax"); /* equal is not more */
}

static void without_any_time_yet_the_path_is_the_latest_stack(void **state) {
    (void)state;
    assert_hot("");
    sample(MAIN "Ab", 1, 0);
    sample(MAIN "Cd", 2, 0);
    assert_hot(MAIN "Cd");
}

static void recursion_is_a_longer_path(void **state) {
    (void)state;
    sample(MAIN "AAA", 1, 10);
    sample(MAIN "AA", 2, 5);
    assert_hot(MAIN "AAA");
    assert_int_equal(tree.nodes, 4);
}

static void equal_functions_make_equal_leaves_and_the_latest_place_is_kept(void **state) {
    (void)state;
    uint32_t a = add_at(MAIN "A", 1, 5), b = add_at(MAIN "A", 2, 9);
    assert_int_equal(a, b);
    assert_int_equal(pool.node[a].frame.pc, (uint64_t)'A' * 0x1000 + 9);
    assert_int_equal(pool.node[a].samples, 2);
    hd_tree_again(&tree, a, 7);
    assert_int_equal(pool.node[a].samples, 3);
    assert_int_equal(pool.node[pool.node[a].parent].last_ns, 7);
    assert_int_equal(tree.samples, 3);
}

static void a_frame_without_a_known_function_is_its_address(void **state) {
    (void)state;
    struct hd_frame a = {.pc = 100}, b = {.pc = 101};
    assert_int_not_equal(hd_tree_add(&tree, &a, 1, 1), hd_tree_add(&tree, &b, 1, 2));
}

static void a_stack_that_is_too_deep_keeps_both_ends(void **state) {
    (void)state;
    static struct hd_frame frames[HD_TREE_DEPTH_MAX + 100];
    uint32_t count = sizeof frames / sizeof frames[0], path[HD_TREE_DEPTH_MAX];
    for (uint32_t i = 0; i < count; i++) {
        frames[i].start = frames[i].pc = i + 1;
    }
    uint32_t leaf = hd_tree_add(&tree, frames, count, 1);
    hd_tree_charge(&tree, leaf, 1);
    assert_int_equal(hd_tree_hot_path(&tree, path, HD_TREE_DEPTH_MAX), HD_TREE_DEPTH_MAX);
    assert_int_equal(pool.node[path[0]].frame.pc, count);
    assert_int_equal(pool.node[path[HD_TREE_DEPTH_MAX - 1]].frame.pc, 1);
    assert_int_equal(pool.node[path[HD_TREE_DEPTH_MAX / 2]].frame.pc, HD_TREE_DEPTH_MAX / 2);
}

static void an_empty_pool_cuts_stacks_short_and_loses_no_time(void **state) {
    (void)state;
    struct hd_tree other;
    hd_tree_init(&other, &pool);
    for (uint64_t i = 0; i < HD_TREE_POOL_NODES - 2; i++) {
        struct hd_frame f = {.pc = i + 1};
        assert_int_not_equal(hd_tree_add(&other, &f, 1, i), HD_TREE_NONE);
    }
    uint32_t leaf = sample(MAIN "AB", 1, 10);
    assert_int_equal(pool.node[leaf].frame.start, (uint64_t)'A' * 0x1000);
    assert_int_equal(sample("X", 2, 5), HD_TREE_NONE);
    assert_int_equal(tree.time_ns, 15);
    assert_hot(MAIN "A");

    hd_tree_free(&other);
    assert_int_equal(pool.used, 2);
    sample(MAIN "AB", 3, 100);
    assert_hot(MAIN "AB");
}

static void what_is_taken_back_leaves_the_tree_as_it_was(void **state) {
    (void)state;
    sample(MAIN "AB", 1, 10);
    uint32_t nodes = tree.nodes, used = pool.used;
    uint32_t late = sample(MAIN "AC", 2, 7), later = sample(MAIN "AB", 3, 9);
    hd_tree_take_back(&tree, later, 9);
    hd_tree_take_back(&tree, late, 7);
    assert_hot(MAIN "AB");
    assert_int_equal(tree.nodes, nodes);
    assert_int_equal(pool.used, used);
    assert_int_equal(tree.samples, 1);
    assert_int_equal(tree.time_ns, 10);
    hd_tree_discharge(&tree, later, 4);
    assert_int_equal(tree.time_ns, 6);
    assert_int_equal(pool.node[later].time_ns, 6);
    assert_int_equal(pool.node[later].samples, 1);
}

static uint32_t free_nodes(void) {
    uint32_t n = 0;
    for (uint32_t i = pool.free; i != HD_TREE_NONE; i = pool.node[i].sibling) {
        n++;
    }
    assert_int_equal(n + pool.used, HD_TREE_POOL_NODES);
    return n;
}

/* Light is what has little time for how long it was not seen. */
static void a_folded_leafs_time_is_its_callers(void **state) {
    (void)state;
    uint32_t b = sample(MAIN "AB", 1 * HD_NS_PER_S, 40), c = sample(MAIN "AC", 2 * HD_NS_PER_S, 6000),
             d = sample(MAIN "ADEF", 3 * HD_NS_PER_S, 500), e = pool.node[pool.node[d].parent].parent,
             a = pool.node[c].parent, z = sample("YZ", 4 * HD_NS_PER_S, 30),
             last = sample(MAIN "X", 5 * HD_NS_PER_S, 0);
    hd_tree_fold(&tree, 4);
    assert_int_equal(hd_tree_left(&tree, b), a);
    assert_int_equal(hd_tree_left(&tree, z), HD_TREE_NONE);
    assert_int_equal(hd_tree_left(&tree, d), a); /* all of one chain weighs the same */
    assert_int_equal(hd_tree_left(&tree, e), a);
    assert_int_equal(hd_tree_left(&tree, c), c);
    assert_int_equal(hd_tree_left(&tree, last), last); /* the newest, whatever it weighs */
    assert_int_equal(tree.nodes, 4);                   /* M, A, C, X */
    assert_int_equal(free_nodes(), HD_TREE_POOL_NODES - 4);
    assert_int_equal(pool.node[a].time_ns, 6540);
    assert_int_equal(pool.node[a].samples, 3);
    assert_float_equal(pool.node[a].folded_ns, 540, 1e-3);
    assert_int_equal(pool.node[c].time_ns, 6000);
    assert_int_equal(tree.time_ns, 6570);
    assert_hot(MAIN "AC");
    hd_tree_take_back(&tree, a, 500); /* the sample in F */
    hd_tree_take_back(&tree, HD_TREE_NONE, 30);
    assert_int_equal(pool.node[a].time_ns, 6040);
    assert_int_equal(pool.node[a].samples, 2);
    assert_int_equal(tree.time_ns, 6040);
    hd_tree_fold(&tree, 100);
    assert_hot(MAIN "X"); /* the newest stays when all else goes */
    assert_int_equal(tree.nodes, 2);
}

/* With all of its callees, a caller whose own time is little leads on to the heaviest; so it does without
 * those that were folded. */
static void what_was_folded_is_not_its_callers_own_time(void **state) {
    (void)state;
    for (int function = 'a'; function <= 'z'; function++) {
        sample((char[]){'M', 'D', (char)function, 0}, (uint64_t)(function - 'a') * HD_NS_PER_S, 10);
    }
    sample(MAIN "DH", 30 * HD_NS_PER_S, 90);
    assert_hot(MAIN "DH");
    hd_tree_fold(&tree, 26);
    assert_int_equal(tree.nodes, 3);
    assert_hot(MAIN "DH");
    sample(MAIN "D", 31 * HD_NS_PER_S, 91); /* its own */
    assert_hot(MAIN "D");
}

static void freed_nodes_are_all_there_again(void **state) {
    (void)state;
    for (int round = 0; round < 3; round++) {
        for (uint64_t i = 0; i < 500; i++) {
            char stack[] = {'M', (char)('a' + i % 7), (char)('a' + i % 11), (char)('a' + i % 13), 0};
            sample(stack, i, 1);
        }
        assert_int_equal(tree.nodes, pool.used);
        hd_tree_free(&tree);
        assert_int_equal(pool.used, 0);
    }
    assert_int_equal(free_nodes(), HD_TREE_POOL_NODES);
}

/* The interpreter's frame is met with another function after the script's own. */
static void a_scripts_function_is_where_its_interpreters_frame_is(void **state) {
    (void)state;
    struct hd_frame first[] = {frame_of('G', 1), frame_of('F', 1), frame_of('E', 1), frame_of('M', 0)};
    struct hd_frame then[] = {frame_of('H', 9), frame_of('E', 9), frame_of('M', 0)};
    then[1].trust = HD_TRUST_SCAN;
    for (uint32_t i = 0; i < 2; i++) {
        first[i].script = (uint16_t)(i + 1);
        first[i].pc = first[2].pc;
        first[i].at = 100 + i; /* the line */
    }
    then[0].script = 3;
    then[0].pc = then[1].pc;
    uint32_t leaf = hd_tree_add(&tree, first, 4, 1), callee = HD_TREE_NONE;
    hd_tree_add(&tree, then, 3, 2);
    for (uint32_t n = leaf, i = 0; n != HD_TREE_NONE; n = pool.node[n].parent, i++) {
        struct hd_frame frame = hd_tree_frame(&pool, n, callee);
        assert_int_equal(frame.pc, first[i].pc);
        assert_int_equal(frame.trust, first[i].trust);
        assert_int_equal(frame.start, first[i].start);
        assert_int_equal(frame.script, first[i].script);
        assert_true(frame.script == 0 || frame.at == first[i].at);
        callee = n;
    }
}

/* Who waits in one function and works in the next is told where it waited, with the frames of that. */
static void keeps_the_call_site_of_the_frame_shown(void **state) {
    (void)state;
    struct hd_frame first[] = {frame_of('W', 3), frame_of('A', 10), frame_of('M', 4)};
    struct hd_frame then[] = {frame_of('B', 5), frame_of('A', 20), frame_of('M', 4)};
    struct hd_frame self[] = {frame_of('A', 30), frame_of('M', 4)};
    first[1].trust = then[1].trust = HD_TRUST_CFI;
    self[0].trust = HD_TRUST_CONTEXT;
    uint32_t w = hd_tree_add(&tree, first, 3, 1), b = hd_tree_add(&tree, then, 3, 2),
             a = hd_tree_add(&tree, self, 2, 3);
    assert_int_equal(pool.node[w].parent, a);
    assert_int_equal(hd_tree_frame(&pool, a, w).pc, first[1].pc);
    assert_int_equal(hd_tree_frame(&pool, a, b).pc, then[1].pc);
    assert_int_equal(hd_tree_frame(&pool, a, HD_TREE_NONE).pc, self[0].pc);
    assert_int_equal(hd_tree_frame(&pool, a, w).trust, HD_TRUST_CFI); /* a return address */
    assert_int_equal(hd_tree_frame(&pool, a, HD_TREE_NONE).trust, HD_TRUST_CONTEXT);
}

#define TEST(f) cmocka_unit_test_setup(f, fresh)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(most_of_the_time_wins_over_the_last_sample),
        TEST(distinguishes_two_callers_blocked_in_one_function),
        TEST(a_caller_of_many_functions_outweighs_one_long_function),
        TEST(among_equals_the_most_recent_wins),
        TEST(the_path_ends_where_own_time_exceeds_any_callees),
        TEST(without_any_time_yet_the_path_is_the_latest_stack),
        TEST(recursion_is_a_longer_path),
        TEST(equal_functions_make_equal_leaves_and_the_latest_place_is_kept),
        TEST(a_frame_without_a_known_function_is_its_address),
        TEST(a_stack_that_is_too_deep_keeps_both_ends),
        TEST(an_empty_pool_cuts_stacks_short_and_loses_no_time),
        TEST(what_is_taken_back_leaves_the_tree_as_it_was),
        TEST(a_folded_leafs_time_is_its_callers),
        TEST(what_was_folded_is_not_its_callers_own_time),
        TEST(freed_nodes_are_all_there_again),
        TEST(keeps_the_call_site_of_the_frame_shown),
        TEST(a_scripts_function_is_where_its_interpreters_frame_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
