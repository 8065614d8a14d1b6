/* SPDX-License-Identifier: MIT
 *
 * A hang with more functions on its stacks than there are nodes for them, and then one function that has most
 * of the time: the report names it, with its share. And a stack of which not all is copied, and one whose
 * innermost function keeps its return address in a register, and those of calls that keep the kernel busy.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "busy.h"
#include "capture/watched_thread.h"
#include "library.h"
#include "report/call_tree.h"

#define DEPTH 40
#define SPELL_MS (SANITIZED ? 20 : 10) /* about a sample for each stack */

/* ---- 300 functions, that call each other in any order ------------------------------------------- */

struct way {
    unsigned left, at;
    const unsigned *next;
};
static void go_on(struct way *w);

#define ONE(n)                                                                                           \
    __attribute__((noinline)) static void function_##n(struct way *w) {                                  \
        go_on(w);                                                                                        \
        __asm__ volatile("" ::"i"(n) : "memory"); /* not a tail call, and not another function's twin */ \
    }
#define TEN(n) \
    ONE(n##0) ONE(n##1) ONE(n##2) ONE(n##3) ONE(n##4) ONE(n##5) ONE(n##6) ONE(n##7) ONE(n##8) ONE(n##9)
#define HUNDRED(n) \
    TEN(n##0) TEN(n##1) TEN(n##2) TEN(n##3) TEN(n##4) TEN(n##5) TEN(n##6) TEN(n##7) TEN(n##8) TEN(n##9)
HUNDRED(1)
HUNDRED(2)
HUNDRED(3)

#define NAME(n) function_##n,
#define NAME_TEN(n) \
    NAME(n##0)      \
    NAME(n##1) NAME(n##2) NAME(n##3) NAME(n##4) NAME(n##5) NAME(n##6) NAME(n##7) NAME(n##8) NAME(n##9)
#define NAME_HUNDRED(n) \
    NAME_TEN(n##0)      \
    NAME_TEN(n##1)      \
    NAME_TEN(n##2)      \
    NAME_TEN(n##3)      \
    NAME_TEN(n##4)      \
    NAME_TEN(n##5) NAME_TEN(n##6) NAME_TEN(n##7) NAME_TEN(n##8) NAME_TEN(n##9)
static void (*const function[])(struct way *) = {NAME_HUNDRED(1) NAME_HUNDRED(2) NAME_HUNDRED(3)};
#define FUNCTIONS (sizeof function / sizeof function[0])

/* Always inlined, so that a stack is the functions alone. */
__attribute__((always_inline)) static inline void go_on(struct way *w) {
    if (w->left-- == 0) {
        spin_ms(SPELL_MS);
    } else {
        function[w->next[w->at++]](w);
    }
}

/* ---- the hang ------------------------------------------------------------------------------------- */

static unsigned random_number(void) {
    static uint64_t state = 1;
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (unsigned)(state >> 33);
}

static uint64_t one_took_ns;

static void many_stacks_then_one(uint64_t ms) {
    uint64_t until_ns = now_ns() + ms * 4 / 10 * MS;
    while (now_ns() < until_ns) {
        unsigned next[DEPTH];
        for (unsigned i = 0; i < DEPTH; i++) {
            next[i] = random_number() % FUNCTIONS;
        }
        struct way w = {.left = DEPTH, .next = next};
        go_on(&w);
    }
    uint64_t began_ns = now_ns();
    block_spin(ms * 6 / 10);
    one_took_ns = now_ns() - began_ns;
}

/* Of the outermost function of the hot stack that is not on all stacks. */
static double share_of_one(const json_t *hang) {
    const json_t *frames = json_object_get(json_object_get(hang, "hot_stack"), "frames");
    double share = 0;
    for (size_t i = 0; i < json_array_size(frames); i++) {
        double here = json_number_value(json_object_get(json_array_get(frames, i), "share"));
        share = here < 0.95 && here > share ? here : share;
    }
    return share;
}

static void one_function_after_hundreds_of_stacks_is_named(void **state) {
    (void)state;
    looper_start(&looper, "main", 0);
    uint64_t took_ns = looper_call(&looper, many_stacks_then_one, SANITIZED ? 6000 : 2500);
    json_t *hangs = spool_wait(&spool, NULL, 1);
    const json_t *hang = json_array_get(hangs, 0), *samples = json_object_get(hang, "samples"),
                 *timeline = json_object_get(samples, "timeline"),
                 *nodes = json_object_get(json_object_get(samples, "tree"), "nodes");
    assert_true(report_blames(hang, block_spin));
    if (!SANITIZED) {
        double share = share_of_one(hang), truth = (double)one_took_ns / (double)took_ns;
        print_message("share %.3f, in truth %.3f; %zu nodes\n", share, truth, json_array_size(nodes));
        assert_float_equal(share, truth, 0.1);
        assert_true(json_array_size(nodes) > HD_TREE_POOL_NODES / 3); /* and was fuller */
    }
    size_t stacks = json_array_size(json_object_get(samples, "stacks"));
    for (size_t i = 0; i < json_array_size(timeline); i++) {
        const json_t *stack = json_object_get(json_array_get(timeline, i), "stack");
        assert_true(stack == NULL || /* the thread did not answer */
                    (size_t)json_integer_value(stack) < stacks);
    }
    json_decref(hangs);
    looper_stop(&looper);
}

/* ---- one that is larger than what is copied of it ------------------------------------------------- */

__attribute__((noinline)) static void has_much_on_its_stack(uint64_t ms) {
    char much[2 * HD_STACK_BYTES_MAX];
    __asm__ volatile("" ::"r"(much) : "memory");
    block_spin(ms); /* its frame pointer is known: it leads beyond the copy */
    __asm__ volatile("" ::"r"(much) : "memory");
}

static void a_stack_that_is_longer_than_what_is_copied_ends_at_the_limit(void **state) {
    (void)state;
    looper_start(&looper, "main", 0);
    looper_call(&looper, has_much_on_its_stack, 2 * THRESHOLD_MS);
    json_t *hangs = spool_wait(&spool, NULL, 1);
    const json_t *hang = json_array_get(hangs, 0);
    assert_true(report_blames(hang, block_spin));
    assert_string_equal(report_text(json_object_get(hang, "hot_stack"), "stop"), "limit");
    json_decref(hangs);
    looper_stop(&looper);
}

/* ---- one whose innermost return address is in a register ------------------------------------------ */

/* The C library's vfork pops its return address, since the child would overwrite it. */
__attribute__((noinline)) static void waits_in_vfork(uint64_t ms) {
    pid_t child = vfork(); /* NOLINT: what it does is what is tested */
    if (child == 0) {
        nap_ms(ms); /* NOLINT: the same */
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void a_wait_in_vfork_has_its_callers(void **state) {
    (void)state;
    looper_start(&looper, "main", 0);
    looper_call(&looper, waits_in_vfork, 2 * THRESHOLD_MS);
    json_t *hangs = spool_wait(&spool, NULL, 1);
    const json_t *hang = json_array_get(hangs, 0), *hot = json_object_get(hang, "hot_stack");
    if (!SANITIZED) { /* they have a vfork of their own */
        print_message("%zu frames, stop: %s\n", json_array_size(json_object_get(hot, "frames")),
                      report_text(hot, "stop"));
        assert_true(report_blames(hang, waits_in_vfork));
        assert_string_equal(report_text(hot, "stop"), "root");
    }
    json_decref(hangs);
    looper_stop(&looper);
}

/* ---- calls that keep the kernel busy --------------------------------------------------------------- */

static bool was_busy;

__attribute__((noinline)) static void keeps_the_kernel_busy(uint64_t ms) {
    for (uint64_t until_ns = now_ns() + ms * MS; now_ns() < until_ns;) {
        was_busy = busy_in_kernel();
    }
}

static void writes_the_late_stack_of_a_thread_busy_in_the_kernel(void **state) {
    (void)state;
    looper_start(&looper, "main", 0);
    uint64_t took_ns = looper_call(&looper, keeps_the_kernel_busy, 4 * THRESHOLD_MS), unknown_ns = 0;
    if (!was_busy) {
        looper_stop(&looper);
        print_message("this kernel has no such call\n");
        skip();
    }
    json_t *hangs = spool_wait(&spool, NULL, 1);
    const json_t *hang = json_array_get(hangs, 0),
                 *timeline = json_object_get(json_object_get(hang, "samples"), "timeline");
    for (size_t i = 0; i < json_array_size(timeline); i++) {
        const json_t *entry = json_array_get(timeline, i);
        unknown_ns += json_object_get(entry, "stack") == NULL ? report_ns(entry, "for_ns") : 0;
    }
    print_message("%zu samples; no stack for %.0f of %.0f ms\n", json_array_size(timeline),
                  (double)unknown_ns / MS, (double)took_ns / MS);
    assert_true(report_blames(hang, keeps_the_kernel_busy));
    assert_true(unknown_ns < took_ns / 10);
    json_decref(hangs);
    looper_stop(&looper);
}

static volatile uint64_t handled;

static void handler(uint64_t signal) {
    handled = signal;
}

static pthread_t hung;
static atomic_bool over;

static void *sends_usr1(void *unused) {
    (void)unused;
    while (!atomic_load(&over)) {
        pthread_kill(hung, SIGUSR1);
        nap_ms(20);
    }
    return NULL;
}

__attribute__((noinline)) static void keeps_it_busy_and_gets_signals(uint64_t ms) {
    pthread_t sender;
    hung = pthread_self();
    atomic_store(&over, false);
    assert_int_equal(pthread_create(&sender, NULL, sends_usr1, NULL), 0);
    keeps_the_kernel_busy(ms);
    atomic_store(&over, true);
    pthread_join(sender, NULL);
}

/* It is first in line where the thread comes back, and the thread is asked before its handler has begun. */
static void a_handler_that_has_not_begun_is_not_blamed(void **state) {
    (void)state;
    struct sigaction act = {.sa_flags = SA_RESTART};
    act.sa_handler = (void (*)(int))(void *)handler;
    sigaction(SIGUSR1, &act, NULL);
    looper_start(&looper, "main", 0);
    looper_call(&looper, keeps_it_busy_and_gets_signals, 4 * THRESHOLD_MS);
    json_t *hangs = spool_wait(&spool, NULL, 1);
    const json_t *hang = json_array_get(hangs, 0);
    assert_true(report_blames(hang, keeps_the_kernel_busy));
    assert_false(report_blames(hang, handler));
    json_decref(hangs);
    looper_stop(&looper);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_function_after_hundreds_of_stacks_is_named, begin_library,
                                        end_library),
        cmocka_unit_test_setup_teardown(a_stack_that_is_longer_than_what_is_copied_ends_at_the_limit,
                                        begin_library, end_library),
        cmocka_unit_test_setup_teardown(a_wait_in_vfork_has_its_callers, begin_library, end_library),
        cmocka_unit_test_setup_teardown(writes_the_late_stack_of_a_thread_busy_in_the_kernel, begin_library,
                                        end_library),
        cmocka_unit_test_setup_teardown(a_handler_that_has_not_begun_is_not_blamed, begin_library,
                                        end_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
