/* SPDX-License-Identifier: MIT
 *
 * Hangs whose stacks have more functions than the pool has nodes, beside a reference that has room for all:
 * what the tree has must be true, and the hot stack the same wherever it is ahead by a fair part.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "hangdog/hangdog.h"
#include "turn/samples.h"

#define INTERVAL (50 * HD_NS_PER_MS)
#define MAIN_FUNCTION 1
#define DISPATCHER 2
#define HEAVY 3

static struct hd_turns turns;
static struct hd_frame frames[HD_TREE_DEPTH_MAX];

/* ---- the reference: a tree without bounds --------------------------------------------------------- */

#define REF_MAX 300000u
#define REF_HASH (1u << 20)
static struct ref {
    uint64_t function, time_ns, last_ns, own_ns;
    uint32_t parent, child, sibling, samples, root;
    bool gone; /* folded once: what the tree has of it is less */
    bool there;
} ref[REF_MAX];
static uint32_t refs, ref_hash[REF_HASH];

struct ref_hang {
    struct hd_turn *h;
    uint32_t root, last; /* the leaf of the newest sample */
    uint64_t last_ns;
    uint32_t timeline[HD_TIMELINE], taken;
} hang_ref[HD_TURNS_MAX];

static uint32_t ref_step(uint32_t parent, uint64_t function, bool make) {
    uint32_t slot = (uint32_t)((parent * 0x9e3779b97f4a7c15ULL ^ function) * 0xff51afd7ed558ccdULL >> 44);
    for (; ref_hash[slot] != 0; slot = (slot + 1) % REF_HASH) {
        const struct ref *r = &ref[ref_hash[slot]];
        if (r->parent == parent && r->function == function) {
            return ref_hash[slot];
        }
    }
    assert_true(make && refs < REF_MAX);
    ref[refs] = (struct ref){.function = function, .parent = parent, .sibling = ref[parent].child};
    ref[refs].root = parent != 0 ? ref[parent].root : refs;
    ref[parent].child = refs;
    ref_hash[slot] = refs;
    return refs++;
}

static void ref_charge(uint32_t leaf, uint64_t ns) {
    ref[leaf].own_ns += ns;
    for (uint32_t i = leaf; i != 0; i = ref[i].parent) {
        ref[i].time_ns += ns;
    }
}

static uint32_t heaviest(uint32_t at, uint64_t *second_ns) {
    uint32_t best = ref[at].child;
    *second_ns = 0;
    for (uint32_t i = best; i != 0; i = ref[i].sibling) {
        const struct ref *n = &ref[i], *b = &ref[best];
        if (i == best) {
            continue;
        }
        bool more = n->time_ns > b->time_ns || (n->time_ns == b->time_ns && n->last_ns > b->last_ns);
        uint64_t less_ns = more ? b->time_ns : n->time_ns;
        *second_ns = less_ns > *second_ns ? less_ns : *second_ns;
        best = more ? i : best;
    }
    return best;
}

/* ---- hangs, as the worker makes them -------------------------------------------------------------- */

static int fresh(void **state) {
    (void)state;
    memset(&turns, 0, sizeof turns);
    memset(ref_hash, 0, sizeof ref_hash);
    memset(hang_ref, 0, sizeof hang_ref);
    refs = 1;
    ref[0] = (struct ref){0};
    hd_turns_init(&turns);
    return 0;
}

static struct ref_hang *hang(uint8_t i, uint8_t hang_state) {
    struct hd_turn *h = &turns.turn[i];
    *h = (struct hd_turn){.used = true, .loop = {.slot = i}, .state = hang_state};
    hd_tree_init(&h->samples.tree, &turns.pool);
    hang_ref[i] = (struct ref_hang){.h = h, .root = ref_step(0, 1000000 + i, true)};
    return &hang_ref[i];
}

/* Node `at` of the tree in the reference. */
static uint32_t ref_of(const struct ref_hang *r, uint32_t at) {
    uint64_t path[HD_TREE_DEPTH_MAX];
    uint32_t count = 0, i = r->root;
    for (; at != HD_TREE_NONE; at = turns.pool.node[at].parent) {
        path[count++] = turns.pool.node[at].frame.start;
    }
    while (count-- != 0) {
        i = ref_step(i, path[count], false);
    }
    return i;
}

static void note_folded(const struct ref_hang *r) {
    for (uint32_t n = r->h->samples.tree.roots; n != HD_TREE_NONE; n = hd_tree_next(&turns.pool, n)) {
        struct ref *in = &ref[ref_of(r, n)];
        in->there =
            turns.pool.node[n].samples > 1 || in->samples == 1; /* or it went and came again at once */
    }
    for (uint32_t i = 1; i < refs; i++) {
        if (ref[i].root == r->root) {
            ref[i].gone |= !ref[i].there;
            ref[i].there = false;
        }
    }
}

/* A stack, outermost first, taken at `at_ns`. */
static void sample(struct ref_hang *r, const uint32_t *stack, uint32_t count, uint64_t at_ns) {
    struct hd_turn *h = r->h;
    if (r->taken != 0) {
        ref_charge(r->last, at_ns - r->last_ns);
    } else {
        h->times.start_ns = at_ns;
    }
    for (uint32_t i = 0; i < count; i++) {
        frames[i] = (struct hd_frame){.start = stack[count - 1 - i], .pc = stack[count - 1 - i]};
    }
    struct hd_sample now = {.valid = true, .at_ns = at_ns, .state = HD_RUN_BLOCKED};
    bool folds = HD_TREE_POOL_NODES - turns.pool.used < count;
    now.leaf = hd_turns_add_stack(&turns, h, frames, count, at_ns);
    r->last = r->root;
    for (uint32_t i = 0; i < count; i++) {
        r->last = ref_step(r->last, stack[i], true);
        ref[r->last].last_ns = at_ns;
        ref[r->last].samples++;
    }
    for (unsigned i = 0; i < HD_TURNS_MAX; i++) {
        if (folds && hang_ref[i].h != NULL) {
            note_folded(&hang_ref[i]);
        }
    }
    uint32_t depth = 0;
    for (uint32_t i = now.leaf; i != HD_TREE_NONE; i = turns.pool.node[i].parent) {
        depth++;
    }
    assert_int_equal(depth, count); /* the stack is whole */
    hd_samples_add(h, &now, 0);
    r->last_ns = at_ns;
    r->timeline[r->taken++ % HD_TIMELINE] = r->last;
}

static void settle(struct ref_hang *r, uint64_t end_ns) {
    ref_charge(r->last, end_ns - r->last_ns);
    hd_samples_settle(r->h, end_ns, 0, NULL);
}

/* ---- what must be true ---------------------------------------------------------------------------- */

static bool leads_to(uint32_t caller, uint32_t leaf) {
    while (leaf != caller && leaf != 0) {
        leaf = ref[leaf].parent;
    }
    return leaf == caller;
}

static void assert_sums(const struct hd_tree *t) {
    uint64_t roots_ns = 0;
    uint32_t nodes = 0;
    for (uint32_t i = t->roots; i != HD_TREE_NONE; i = hd_tree_next(&turns.pool, i), nodes++) {
        const struct hd_tree_node *n = &turns.pool.node[i];
        uint64_t below_ns = 0;
        uint32_t below = 0;
        for (uint32_t c = n->child; c != HD_TREE_NONE; c = turns.pool.node[c].sibling) {
            assert_int_equal(turns.pool.node[c].parent, i);
            below_ns += turns.pool.node[c].time_ns;
            below += turns.pool.node[c].samples;
        }
        assert_true(below_ns <= n->time_ns && below <= n->samples && n->samples <= t->samples);
        assert_true(n->time_ns <= t->time_ns);
        roots_ns += n->parent == HD_TREE_NONE ? n->time_ns : 0;
    }
    assert_true(roots_ns <= t->time_ns);
    assert_int_equal(nodes, t->nodes);
}

/* No node is lost or given twice. */
static void assert_pool(void) {
    uint32_t count = 0, nodes = 0;
    for (uint32_t i = turns.pool.free; i != HD_TREE_NONE && count <= HD_TREE_POOL_NODES;
         i = turns.pool.node[i].sibling) {
        count++;
    }
    for (unsigned i = 0; i < HD_TURNS_MAX; i++) {
        nodes += turns.turn[i].samples.tree.nodes;
    }
    assert_int_equal(turns.pool.used, nodes);
    assert_int_equal(count + nodes, HD_TREE_POOL_NODES);
}

/* Times and counts of what was never folded are exact; what the timeline shows is a stack of that
 * sample, or its callers. */
static void assert_true_to_the_reference(const struct ref_hang *r) {
    const struct hd_tree *t = &r->h->samples.tree;
    assert_pool();
    assert_sums(t);
    assert_int_equal(t->time_ns, ref[r->root].time_ns);
    assert_int_equal(t->samples, r->taken);
    uint32_t exact = 0;
    for (uint32_t i = t->roots; i != HD_TREE_NONE; i = hd_tree_next(&turns.pool, i)) {
        const struct hd_tree_node *n = &turns.pool.node[i];
        const struct ref *want = &ref[ref_of(r, i)];
        exact += !want->gone;
        if (want->gone) {
            assert_true(n->time_ns <= want->time_ns && n->samples <= want->samples);
        } else {
            assert_true(n->time_ns == want->time_ns && n->samples == want->samples);
        }
    }
    assert_true(exact > 0);
    uint32_t have = r->taken < HD_TIMELINE ? r->taken : HD_TIMELINE;
    assert_int_equal(r->h->samples.timeline.count, r->taken);
    for (uint32_t i = 0; i < have; i++) {
        assert_true(leads_to(ref_of(r, r->h->samples.timeline.entry[i].leaf), r->timeline[i]));
    }
    assert_int_equal(ref_of(r, r->h->samples.newest.leaf), r->last);
}

/* The same hot stack as the reference's, as long as each step is ahead by `fair` of the time. Returns how
 * many steps that were, `whole`: also its end. */
static uint32_t assert_hot(const struct ref_hang *r, double fair, bool whole) {
    uint32_t path[HD_TREE_DEPTH_MAX], at = r->root, step = 0;
    uint32_t count = hd_tree_hot_path(&r->h->samples.tree, path, HD_TREE_DEPTH_MAX);
    uint64_t fair_ns = (uint64_t)(fair * (double)r->h->samples.tree.time_ns);
    for (;; step++) {
        uint64_t second_ns, own_ns = at != r->root ? ref[at].own_ns : 0;
        uint32_t best = heaviest(at, &second_ns);
        if (best == 0 || own_ns > ref[best].time_ns + fair_ns) {
            assert_int_equal(count, step);
            return step;
        }
        second_ns = own_ns > second_ns ? own_ns : second_ns;
        if (ref[best].time_ns < second_ns + fair_ns) {
            break;
        }
        assert_true(step < count);
        assert_int_equal(ref_of(r, path[step]), best);
        at = best;
    }
    assert_false(whole);
    return step;
}

static double share_of(const struct ref_hang *r, uint32_t function) {
    uint32_t path[HD_TREE_DEPTH_MAX];
    uint32_t count = hd_tree_hot_path(&r->h->samples.tree, path, HD_TREE_DEPTH_MAX);
    assert_int_equal(turns.pool.node[path[count - 1]].frame.start, function);
    return (double)turns.pool.node[path[count - 1]].time_ns / (double)r->h->samples.tree.time_ns;
}

/* ---- stacks --------------------------------------------------------------------------------------- */

static uint64_t random_state;

static uint32_t random_below(uint32_t limit) {
    random_state = random_state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (uint32_t)((random_state >> 33) % limit);
}

/* main, the dispatcher, and functions that no other stack has. */
static void sample_parser(struct ref_hang *r, uint32_t number, uint32_t depth, uint64_t at_ns) {
    uint32_t stack[HD_TREE_DEPTH_MAX] = {MAIN_FUNCTION, DISPATCHER};
    for (uint32_t i = 2; i < depth; i++) {
        stack[i] = 1000 + number * HD_TREE_DEPTH_MAX + i;
    }
    sample(r, stack, depth, at_ns);
}

static void sample_heavy(struct ref_hang *r, uint64_t at_ns) {
    sample(r, (const uint32_t[]){MAIN_FUNCTION, DISPATCHER, HEAVY}, 3, at_ns);
}

/* ---- tests ---------------------------------------------------------------------------------------- */

static void what_comes_after_many_stacks_has_its_name_and_its_share(void **state) {
    (void)state;
    struct ref_hang *r = hang(0, HANGDOG_STATE_FOREGROUND);
    uint64_t at_ns = INTERVAL;
    for (uint32_t i = 0; i < 120; i++, at_ns += INTERVAL) {
        sample_parser(r, i, 40, at_ns);
    }
    for (uint32_t i = 0; i < 400; i++, at_ns += INTERVAL) {
        sample_heavy(r, at_ns);
    }
    settle(r, at_ns);
    assert_true_to_the_reference(r);
    assert_int_equal(assert_hot(r, 0.05, true), 3);
    assert_float_equal(share_of(r, HEAVY), 20.0 / 26, 1e-6);
}

/* A third of the time is more than any other function has, though what was folded is more in all. */
static void a_third_among_many_stacks_is_the_hot_stack(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        fresh(NULL);
        random_state = seed;
        struct ref_hang *r = hang(0, HANGDOG_STATE_LAUNCH);
        uint64_t at_ns = INTERVAL;
        for (uint32_t i = 0; i < 1000; i++, at_ns += INTERVAL) {
            if (i >= 200 && random_below(10) < 4) {
                sample_heavy(r, at_ns);
            } else {
                sample_parser(r, i, 10 + random_below(40), at_ns);
            }
        }
        settle(r, at_ns);
        assert_true_to_the_reference(r);
        assert_int_equal(assert_hot(r, 0.05, true), 3);
        double truth =
            (double)ref[ref_step(ref_step(ref_step(r->root, 1, false), 2, false), 3, false)].time_ns /
            (double)ref[r->root].time_ns;
        assert_float_equal(share_of(r, HEAVY), truth, 0.02);
    }
}

/* What has filled the pool weighs more than what is new, all of it: that must have its turn all the same. */
static void what_comes_after_a_pool_of_heavier_stacks_is_not_kept_out(void **state) {
    (void)state;
    struct ref_hang *r = hang(0, HANGDOG_STATE_FOREGROUND);
    uint64_t at_ns = INTERVAL;
    for (uint32_t i = 0; i < 1000; i++, at_ns += INTERVAL) {
        sample_parser(r, i % 50, 40, at_ns);
    }
    for (uint32_t i = 0; i < 1000; i++, at_ns += INTERVAL) {
        if (i % 8 == 4) {
            sample_heavy(r, at_ns);
        } else {
            sample_parser(r, 100 + i, 40, at_ns);
        }
    }
    settle(r, at_ns);
    assert_true_to_the_reference(r);
    assert_float_equal(share_of(r, HEAVY), 0.0625, 0.005);
}

/* Its part came first, and then so much else that nothing of that is left. */
static void what_came_before_many_stacks_is_not_forgotten(void **state) {
    (void)state;
    struct ref_hang *r = hang(0, HANGDOG_STATE_FOREGROUND);
    uint64_t at_ns = INTERVAL;
    for (uint32_t i = 0; i < 200; i++, at_ns += INTERVAL) {
        sample_heavy(r, at_ns);
    }
    for (uint32_t i = 0; i < 800; i++, at_ns += INTERVAL) {
        sample_parser(r, i, 40, at_ns);
    }
    settle(r, at_ns);
    assert_true_to_the_reference(r);
    assert_float_equal(share_of(r, HEAVY), 0.2, 1e-6);
}

static void every_hang_has_its_stacks_however_many_another_has(void **state) {
    (void)state;
    struct ref_hang *r[HD_TURNS_MAX] = {hang(0, HANGDOG_STATE_LAUNCH)};
    uint64_t at_ns = INTERVAL;
    for (uint32_t i = 0; i < 300; i++, at_ns += INTERVAL) {
        sample_parser(r[0], i, 40, at_ns);
    }
    for (uint8_t i = 1; i < HD_TURNS_MAX; i++) {
        r[i] = hang(i, HANGDOG_STATE_FOREGROUND);
    }
    for (uint32_t i = 0; i < 300; i++, at_ns += INTERVAL) {
        for (uint32_t j = 0; j < HD_TURNS_MAX; j++) {
            if (i % 3 == 0) {
                sample_parser(r[j], 300 * j + i, j == 1 ? HD_TREE_DEPTH_MAX : 40, at_ns);
            } else {
                sample_heavy(r[j], at_ns);
            }
        }
    }
    for (uint32_t j = 0; j < HD_TURNS_MAX; j++) {
        settle(r[j], at_ns);
        assert_true_to_the_reference(r[j]);
        if (j > 0) {
            assert_float_equal(share_of(r[j], HEAVY), 2.0 / 3, 0.02);
        }
    }
    for (uint32_t j = 0; j < HD_TURNS_MAX; j++) {
        hd_turn_free(r[j]->h);
    }
    assert_int_equal(turns.pool.used, 0);
    assert_pool();
}

/* All stacks of HD_TREE_DEPTH_MAX frames, in as many hangs as there can be: the worst there is. */
static void there_is_always_room(void **state) {
    (void)state;
    uint64_t at_ns = INTERVAL;
    for (uint8_t j = 0; j < HD_TURNS_MAX; j++) {
        hang(j, HANGDOG_STATE_FOREGROUND);
    }
    for (uint32_t i = 0; i < 150; i++, at_ns += INTERVAL) {
        sample_parser(&hang_ref[i % HD_TURNS_MAX], i, HD_TREE_DEPTH_MAX, at_ns); /* which asserts it whole */
    }
    for (uint8_t j = 0; j < HD_TURNS_MAX; j++) {
        settle(&hang_ref[j], at_ns);
        assert_true_to_the_reference(&hang_ref[j]);
    }
}

/* Code without known functions: each address is one, and none has a caller. */
static void outermost_frames_are_folded_into_the_whole(void **state) {
    (void)state;
    struct ref_hang *r = hang(0, HANGDOG_STATE_LAUNCH);
    uint64_t at_ns = INTERVAL;
    for (uint32_t i = 0; i < 5000; i++, at_ns += INTERVAL) {
        sample(r, (const uint32_t[]){i % 4 != 0 ? 10000 + i : HEAVY}, 1, at_ns);
    }
    settle(r, at_ns);
    assert_true_to_the_reference(r);
    assert_float_equal(share_of(r, HEAVY), 0.25, 1e-6);
}

/* The turn was over before its newest samples. */
static void what_is_cut_off_after_folding_is_taken_back_once(void **state) {
    (void)state;
    for (uint32_t late = 1; late < HD_TIMELINE; late += 14) {
        fresh(NULL);
        struct ref_hang *r = hang(0, HANGDOG_STATE_FOREGROUND);
        uint64_t at_ns = INTERVAL;
        for (uint32_t i = 0; i < 400; i++, at_ns += INTERVAL) {
            sample_parser(r, i % 3 == 0 ? i / 100 : i, 60, at_ns);
        }
        hd_samples_settle(r->h, at_ns - late * INTERVAL - INTERVAL / 2, 0, NULL);
        assert_int_equal(r->h->samples.tree.samples, 400 - late);
        assert_int_equal(r->h->samples.taken, 400 - late);
        assert_int_equal(r->h->samples.tree.time_ns, (400 - late) * INTERVAL - INTERVAL / 2);
        assert_pool();
        assert_sums(&r->h->samples.tree);
        assert_int_equal(turns.pool.node[r->h->samples.tree.roots].samples, 400 - late);
        assert_int_equal(turns.pool.node[r->h->samples.tree.roots].time_ns, r->h->samples.tree.time_ns);
        for (uint32_t i = 0; i < r->h->samples.timeline.count; i++) {
            ref_of(r, r->h->samples.timeline.entry[i].leaf); /* it is one of the tree */
        }
    }
}

/* Programs of functions that call others, some much more often than others, in phases; samples that stand for
 * differing times. Wherever the reference's hot stack is ahead by a fair part at each step, so is the tree's.
 */
static void random_programs_have_the_hot_stacks_of_the_reference(void **state) {
    (void)state;
    uint32_t steps = 0, ends = 0, gone = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        fresh(NULL);
        random_state = seed;
        struct ref_hang *r = hang(0, seed % 2 ? HANGDOG_STATE_LAUNCH : HANGDOG_STATE_FOREGROUND);
        uint64_t at_ns = INTERVAL;
        uint32_t deepest = 8 + random_below(72), callees = 2 + random_below(40), straight = random_below(100),
                 samples = 300 + random_below(1500), phase = 0;
        for (uint32_t i = 0; i < samples; i++) {
            uint32_t stack[HD_TREE_DEPTH_MAX], depth = 2 + random_below(deepest - 1);
            phase = random_below(200) == 0 ? phase + 1 : phase;
            for (uint32_t d = 0; d < depth; d++) {
                stack[d] =
                    random_below(100) < straight ? 1 + (d > 3 ? phase % 3 : 0) : 10 + random_below(callees);
            }
            stack[0] = MAIN_FUNCTION;
            sample(r, stack, depth, at_ns);
            at_ns += INTERVAL + random_below(INTERVAL / 4) + (random_below(100) == 0 ? 20 * INTERVAL : 0);
        }
        settle(r, at_ns);
        assert_true_to_the_reference(r);
        steps += assert_hot(r, 0.03, false);
        ends += r->h->samples.tree.nodes;
        for (uint32_t i = 1; i < refs; i++) {
            gone += ref[i].gone;
        }
    }
    print_message("%u steps compared, %u nodes left, %u folded\n", steps, ends, gone);
    assert_true(steps > 100 && gone > 100000);
}

#define TEST(f) cmocka_unit_test_setup(f, fresh)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(what_comes_after_many_stacks_has_its_name_and_its_share),
        TEST(a_third_among_many_stacks_is_the_hot_stack),
        TEST(what_comes_after_a_pool_of_heavier_stacks_is_not_kept_out),
        TEST(what_came_before_many_stacks_is_not_forgotten),
        TEST(every_hang_has_its_stacks_however_many_another_has),
        TEST(there_is_always_room),
        TEST(outermost_frames_are_folded_into_the_whole),
        TEST(what_is_cut_off_after_folding_is_taken_back_once),
        TEST(random_programs_have_the_hot_stacks_of_the_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
