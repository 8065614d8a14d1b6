/* SPDX-License-Identifier: MIT
 *
 * A write that blocks: detection, durations and stopping go on; only the reports come later.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stalled_disk.h"

static atomic_bool stalled;
static atomic_int stalling_tid; /* the first worker that came; others' writes pass */
static long (*true_write)(int, const void *, size_t);

static long stalling_write(int fd, const void *buf, size_t n) {
    int none = 0, own = gettid();
    while (atomic_load(&stalled) &&
           (atomic_compare_exchange_strong(&stalling_tid, &none, own) || atomic_load(&stalling_tid) == own)) {
        nap_ms(2);
    }
    int mine = own;
    atomic_compare_exchange_strong(&stalling_tid, &mine, 0);
    return true_write(fd, buf, n);
}

static void stall_write(bool on) {
    atomic_store(&stalled, on);
}

static bool write_stalls(void *unused) {
    (void)unused;
    return atomic_load(&stalling_tid) != 0;
}

static bool write_goes_on(void *unused) {
    return !write_stalls(unused);
}

static int begin_write(void **state) {
    (void)state;
    spool_make(&spool);
    library_start(&spool);
    return 0;
}

static int end_write(void **state) {
    (void)state;
    atomic_store(&stalled, false);
    hangdog_stop();
    bool left = wait_for(write_goes_on, NULL);
    spool_remove(&spool);
    return left ? 0 : -1;
}

static void a_write_that_blocks_delays_the_reports_and_nothing_else(void **state) {
    (void)state;
    hangs_on_a_stalled_disk(stall_write, write_stalls, &spool);
}

static void stop_does_not_wait_for_a_write_that_blocks(void **state) {
    (void)state;
    stop_is_quick_on_a_stalled_disk(stall_write, write_stalls);
    /* and a new run has nothing to do with the worker that was left behind */
    struct spool other;
    spool_make(&other);
    library_start(&other);
    looper_start(&looper, "main", 0);
    looper_call(&looper, block_sleep, 2 * T);
    json_decref(spool_wait(&other, "hang", 1));
    looper_stop(&looper);
    assert_int_equal(hangdog_stop(), 0);
    spool_remove(&other);
}

static int ends_fds[2];

/* Blocked in one call until it is told to end. */
static void block_until_released(uint64_t unused) {
    char byte;
    (void)unused;
    (void)!read(ends_fds[0], &byte, 1);
}

/* A deep stack, blocked: two or three of them fill the ring. */
static void block_deep(uint64_t ms) {
    uint8_t frame[48 * 1024];
    memset(frame, 1, sizeof frame);
    __asm__ volatile("" : : "r"(frame) : "memory");
    block_sleep(ms);
    __asm__ volatile("" : : "r"(frame) : "memory");
}

static uint64_t suppressed_ns(const struct spool *s, unsigned count) {
    json_t *sessions = spool_wait(s, "session", 1); /* stop may have left the worker at a slow disk */
    json_t *list = json_object_get(json_object_get(json_array_get(sessions, 0), "session"), "suppressed");
    assert_int_equal(json_array_size(list), 1);
    assert_int_equal(report_ns(json_array_get(list, 0), "count"), count);
    uint64_t ns = report_ns(json_array_get(list, 0), "max_ns");
    json_decref(sessions);
    return ns;
}

#define BUSY_MS 800 /* its short turns stay below it also where they wait for a processor */

/* The worker is away for longer than there is room for what it should be told. */
static void reports_a_hang_that_ends_meanwhile_and_counts_later_ones(void **state) {
    (void)state;
    struct looper busy = {0};
    assert_int_equal(pipe2(ends_fds, O_CLOEXEC), 0);
    looper_start(&looper, "main", 0);
    looper_start(&busy, "busy", BUSY_MS * MS);
    looper_call(&looper, block_sleep, 1);
    looper_call(&busy, block_sleep, 1);
    stall_write(true);
    looper_post(&looper, block_until_released, 0);
    assert_true(wait_for(write_stalls, NULL));
    for (unsigned i = 0; i < 60; i++) {
        looper_call(&busy, i < 5 ? block_deep : block_sleep, 4 * INTERVAL_MS);
    }
    uint64_t untold = looper_call(&busy, block_sleep, BUSY_MS + T);
    assert_int_equal(write(ends_fds[1], "", 1), 1);
    looper_wait(&looper);
    uint64_t took = looper.took_ns;
    nap_ms(5 * INTERVAL_MS);
    stall_write(false);
    json_t *hangs = spool_wait(&spool, "hang", 1);
    assert_near(report_ns(json_array_get(hangs, 0), "duration_ns"), took);
    assert_true(report_blames(json_array_get(hangs, 0), block_until_released));
    json_decref(hangs);
    looper_call(&busy, block_sleep_other, BUSY_MS + T);
    hangs = spool_wait(&spool, "hang", 2);
    assert_true(report_blames(json_array_get(hangs, 1), block_sleep_other));
    json_decref(hangs);
    looper_stop(&busy);
    looper_stop(&looper);
    assert_int_equal(hangdog_stop(), 0);
    assert_near(suppressed_ns(&spool, 1), untold);
    close(ends_fds[0]);
    close(ends_fds[1]);
}

static size_t reports_of(bool complete) {
    json_t *hangs = spool_reports(&spool, "hang", complete);
    size_t count = json_array_size(hangs);
    json_decref(hangs);
    return count;
}

static bool all_followed_are_reported(void *unused) {
    (void)unused;
    return reports_of(true) >= HD_FOLLOWED_MAX && reports_of(true) == reports_of(false);
}

/* More loops hang at once than the worker, which is away, could be told of: those that it follows end for it,
 * too, and the others are counted. */
static void the_ends_of_many_hangs_are_not_lost(void **state) {
    (void)state;
    enum {
        MANY = 60
    };
    static struct looper many[MANY];
    assert_int_equal(pipe2(ends_fds, O_CLOEXEC), 0);
    looper_start(&looper, "main", 0);
    looper_call(&looper, block_sleep, 1);
    for (unsigned i = 0; i < MANY; i++) {
        looper_start(&many[i], "one of many", 0);
        looper_call(&many[i], block_sleep, 1);
    }
    stall_write(true);
    looper_post(&looper, block_until_released, 0);
    assert_true(wait_for(write_stalls, NULL));
    for (unsigned i = 0; i < MANY; i++) {
        looper_post(&many[i], block_sleep, 3 * T);
    }
    for (unsigned i = 0; i < MANY; i++) {
        looper_wait(&many[i]);
    }
    assert_int_equal(write(ends_fds[1], "", 1), 1);
    looper_wait(&looper);
    nap_ms(5 * INTERVAL_MS);
    stall_write(false);
    assert_true(wait_for(all_followed_are_reported, NULL));
    nap_ms(20 * INTERVAL_MS); /* perhaps one more, that came late into a place that was free again */
    for (unsigned i = 0; i < MANY; i++) {
        looper_stop(&many[i]);
    }
    looper_stop(&looper);
    assert_int_equal(hangdog_stop(), 0);
    size_t reported = reports_of(true);
    assert_int_equal(reports_of(false), reported);
    suppressed_ns(&spool, MANY + 1 - (unsigned)reported);
    close(ends_fds[0]);
    close(ends_fds[1]);
}

#define WRITE(name) cmocka_unit_test_setup_teardown(name, begin_write, end_write)

int main(void) {
    true_write = hd_os.write;
    hd_os.write = stalling_write;
    const struct CMUnitTest tests[] = {
        WRITE(a_write_that_blocks_delays_the_reports_and_nothing_else),
        WRITE(reports_a_hang_that_ends_meanwhile_and_counts_later_ones),
        WRITE(the_ends_of_many_hangs_are_not_lost),
        WRITE(stop_does_not_wait_for_a_write_that_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
