/* SPDX-License-Identifier: MIT
 *
 * Threads that are not always on their own stack: a watch that begins on a fiber's, which is unmapped later,
 * and what comes into its place has a hole. Nothing may be read across that; and back on the thread's own
 * stack, whoever made it, all of it is read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "library.h"

#define T THRESHOLD_MS
#define PAGE 4096u
#define FIBER_BYTES (256u * 1024u)
#define SMALL_BYTES (64u * 1024u)
#define DEEP_BYTES (40u * 1024u) /* more than is read of a stack that is not the thread's own */

/* ---- fibers ------------------------------------------------------------------------------------- */

static uint8_t *fiber_map(uint8_t *at, size_t bytes) {
    int fixed = at != NULL ? MAP_FIXED_NOREPLACE : 0;
    uint8_t *stack = mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0);
    assert_true(stack != MAP_FAILED && (at == NULL || stack == at));
    assert_int_equal(mprotect(stack, PAGE, PROT_NONE), 0);
    return stack;
}

static void fiber_run(uint8_t *stack, size_t bytes, void (*run)(void)) {
    ucontext_t here, there;
    assert_int_equal(getcontext(&there), 0);
    there.uc_stack.ss_sp = stack + PAGE;
    there.uc_stack.ss_size = bytes - PAGE;
    there.uc_link = &here;
    makecontext(&there, run, 0);
    assert_int_equal(swapcontext(&here, &there), 0);
}

/* ---- what the watched thread does ----------------------------------------------------------------- */

static hangdog_loop *loop;

static void watch_here(void) {
    loop = hangdog_loop_watch("fibers", 0);
    assert_non_null(loop);
    hangdog_before_wait(loop);
    nap_ms(100); /* until the monitor has looked at its files */
}

static void hang_here(void) {
    hangdog_after_wait(loop);
    block_spin(2 * T);
    block_sleep(2 * T);
    hangdog_before_wait(loop);
}

__attribute__((noinline)) static void deep(uint64_t how) {
    volatile uint8_t below[DEEP_BYTES];
    below[0] = below[DEEP_BYTES - 1] = 1;
    (how == 0 ? block_spin : block_sleep)(2 * T);
    below[1] = below[0];
}

__attribute__((noinline)) static void from_the_root(uint64_t how) {
    hangdog_after_wait(loop);
    deep(how);
    hangdog_before_wait(loop);
}

static void *run(void *arg) {
    (void)arg;
    uint8_t *fiber = fiber_map(NULL, FIBER_BYTES);
    fiber_run(fiber, FIBER_BYTES, watch_here);
    munmap(fiber, FIBER_BYTES);
    fiber_map(fiber, SMALL_BYTES);
    fiber_run(fiber, SMALL_BYTES, hang_here);
    from_the_root(0);
    from_the_root(1);
    hangdog_loop_unwatch(loop);
    munmap(fiber, SMALL_BYTES);
    return NULL;
}

static void check_reports(void) {
    json_t *hangs = spool_wait(&spool, NULL, 3);
    assert_true(report_blames(json_array_get(hangs, 0), block_spin) ||
                report_blames(json_array_get(hangs, 0), block_sleep));
    assert_true(report_blames(json_array_get(hangs, 1), block_spin));
    assert_true(report_blames(json_array_get(hangs, 1), from_the_root));
    assert_true(report_blames(json_array_get(hangs, 2), block_sleep));
    assert_true(report_blames(json_array_get(hangs, 2), from_the_root));
    json_decref(hangs);
}

static void a_watch_that_begins_on_a_fiber_of_a_thread(void **state) {
    (void)state;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, run, NULL), 0);
    pthread_join(thread, NULL);
    check_reports();
}

/* As a thread's stack looks to the kernel where libc puts the guard inside the mapping, or none. */
static void of_a_thread_whose_stack_has_no_guard(void **state) {
    (void)state;
    size_t bytes = 1024u * 1024u;
    uint8_t *stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(stack != MAP_FAILED);
    pthread_attr_t attributes;
    pthread_t thread;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstack(&attributes, stack, bytes), 0);
    assert_int_equal(pthread_create(&thread, &attributes, run, NULL), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    check_reports();
    munmap(stack, bytes);
}

static void of_the_main_thread(void **state) {
    (void)state;
    run(NULL);
    check_reports();
}

int main(void) {
    library_quick_disk();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_watch_that_begins_on_a_fiber_of_a_thread, begin_library,
                                        end_library),
        cmocka_unit_test_setup_teardown(of_a_thread_whose_stack_has_no_guard, begin_library, end_library),
        cmocka_unit_test_setup_teardown(of_the_main_thread, begin_library, end_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
