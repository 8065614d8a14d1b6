/* SPDX-License-Identifier: MIT
 *
 * Starting and stopping the library: at any moment, in any order, within 100 ms; what it takes and gives
 * back; bad arguments. From several threads at once: test_library_at_once.c; loops that come and go:
 * test_library_watch.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "library.h"
#include "os/os.h"

#define T THRESHOLD_MS
#ifdef __aarch64__
#define MEMORY_BYTES (1280 * 1024) /* larger stacks, of which no more is used */
#else
#define MEMORY_BYTES (1088 * 1024)
#endif

static uint64_t start_ns(void) {
    uint64_t before = now_ns();
    library_start(&spool);
    return now_ns() - before;
}

static uint64_t stop_ns(void) {
    uint64_t before = now_ns();
    assert_int_equal(hangdog_stop(), 0);
    return now_ns() - before;
}

/* The best of three tries: who gets no processor is slow. */
static void quick_start(void) {
    uint64_t took = start_ns();
    for (unsigned i = 0; i < 2 && took >= QUICK_NS; i++) {
        assert_int_equal(hangdog_stop(), 0);
        took = start_ns();
    }
    if (took >= QUICK_NS) {
        fail_msg("start took %.1f ms", (double)took / MS);
    }
}

static void quick_stop(void) {
    uint64_t took = stop_ns();
    for (unsigned i = 0; i < 2 && took >= QUICK_NS; i++) {
        library_start(&spool);
        took = stop_ns();
    }
    if (took >= QUICK_NS) {
        fail_msg("stop took %.1f ms", (double)took / MS);
    }
}

/* ---- start and stop ------------------------------------------------------------------------------- */

/* Scenario 28. */
static void ten_starts_and_stops_leave_nothing_behind(void **state) {
    (void)state;
    quick_start(); /* what only the first one needs */
    quick_stop();
    unsigned threads = entries_of("/proc/self/task"), descriptors = entries_of("/proc/self/fd");
    for (unsigned i = 0; i < 10; i++) {
        quick_start();
        assert_int_equal(entries_of("/proc/self/fd"), descriptors); /* ours are in a table of their own */
        quick_stop();
    }
    assert_threads(threads);
    assert_int_equal(entries_of("/proc/self/fd"), descriptors);
}

static void ten_runs_with_a_loop_leave_nothing_behind(void **state) {
    (void)state;
    unsigned threads = entries_of("/proc/self/task"), descriptors = entries_of("/proc/self/fd");
    for (unsigned i = 0; i < 10; i++) {
        quick_start();
        looper_start(&looper, "main", 0);
        looper_call(&looper, block_sleep, 5);
        looper_stop(&looper);
        quick_stop();
    }
    assert_threads(threads);
    assert_int_equal(entries_of("/proc/self/fd"), descriptors);
}

static void starting_twice_and_stopping_twice(void **state) {
    (void)state;
    assert_int_equal(hangdog_stop(), 0);
    library_start(&spool);
    hangdog_options o = library_options(&spool);
    assert_int_equal(hangdog_start(&o), -EALREADY);
    assert_int_equal(hangdog_start(NULL), -EALREADY);
    quick_stop();
    quick_stop();
    quick_start();
    quick_stop();
}

static void a_stop_in_mid_hang_is_quick_and_reports_the_hang(void **state) {
    (void)state;
    uint64_t took = UINT64_MAX;
    for (unsigned i = 0; i < 3 && took >= QUICK_NS; i++) {
        spool_remove(&spool);
        spool_make(&spool);
        quick_start();
        looper_start(&looper, "main", 0);
        looper_post(&looper, block_sleep, 5 * T);
        spool_wait_for_one(&spool);
        took = stop_ns();
        looper_wait(&looper); /* its marks do nothing now */
        looper_stop(&looper);
        json_t *hangs = spool_wait(&spool, "hang", 1);
        assert_true(report_ns(json_array_get(hangs, 0), "duration_ns") >= T * MS);
        json_decref(hangs);
    }
    if (took >= QUICK_NS) {
        fail_msg("stop took %.1f ms", (double)took / MS);
    }
}

static void a_restart_in_mid_hang_reports_each_hang_once(void **state) {
    (void)state;
    quick_start();
    looper_start(&looper, "main", 0);
    looper_post(&looper, block_sleep, 5 * T);
    spool_wait_for_one(&spool);
    quick_stop();
    looper_stop(&looper); /* a handle is good until the next start */
    quick_start();
    looper_start(&looper, "main", 0);
    looper_call(&looper, block_sleep_other, 2 * T);
    looper_stop(&looper);
    quick_stop();
    json_decref(spool_wait(&spool, "hang", 2));
}

static void a_handle_outlives_the_run(void **state) {
    (void)state;
    quick_start();
    hangdog_loop *loop = hangdog_loop_watch("main", 0);
    assert_non_null(loop);
    quick_stop();
    for (unsigned i = 0; i < 1000; i++) {
        hangdog_before_wait(loop);
        hangdog_after_wait(loop);
        hangdog_turn(loop);
    }
    hangdog_expect_block(loop);
    hangdog_expect_block_end(loop);
    hangdog_loop_unwatch(loop);
    assert_null(hangdog_loop_watch("none", 0));
}

/* ---- arguments ------------------------------------------------------------------------------------ */

static void no_loop_and_bad_arguments_do_no_harm(void **state) {
    (void)state;
    hangdog_before_wait(NULL);
    hangdog_after_wait(NULL);
    hangdog_turn(NULL);
    hangdog_mark(NULL, HANGDOG_ENTRY);
    hangdog_expect_block(NULL);
    hangdog_expect_block_end(NULL);
    hangdog_loop_unwatch(NULL);
    hangdog_pause();
    hangdog_resume();
    hangdog_resume();
    hangdog_set_state(HANGDOG_STATE_BACKGROUND);
    assert_null(hangdog_loop_watch("not started", 0));
    quick_start();
    hangdog_set_state((hangdog_state)99);
    hangdog_loop *loop = hangdog_loop_watch(NULL, 0);
    assert_non_null(loop);
    hangdog_mark(loop, (hangdog_activity)99);
    hangdog_loop_unwatch(loop);
    quick_stop();
}

/* ---- options -------------------------------------------------------------------------------------- */

static void options_that_make_no_sense_start_nothing(void **state) {
    (void)state;
    char longer[8192];
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    hangdog_options good = library_options(&spool);
    hangdog_options bad[] = {good, good, good, good, good, good, good, good};
    bad[0].size = 0;
    bad[1].interval_ns = MS - 1;
    bad[2].interval_ns = SECOND + 1;
    bad[3].signal = SIGUSR1; /* whose default action ends the program */
    bad[4].signal = SIGRTMIN;
    bad[5].signal = -1;
    bad[6].spool = longer;
    bad[7].app_name = longer;
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        int rc = hangdog_start(&bad[i]);
        assert_int_equal(rc, i >= 6 ? -ENAMETOOLONG : -EINVAL);
        assert_null(hangdog_loop_watch("none", 0));
    }
    quick_start();
    quick_stop();
}

/* One that was compiled before the last members were there. */
static void an_older_programs_options_are_shorter(void **state) {
    (void)state;
    hangdog_options o = library_options(&spool);
    o.size = offsetof(hangdog_options, reports_per_day);
    o.signal = SIGUSR1; /* beyond its end: not looked at */
    assert_int_equal(hangdog_start(&o), 0);
    looper_start(&looper, "main", 0);
    looper_call(&looper, block_sleep, 2 * T);
    looper_stop(&looper);
    quick_stop();
    json_decref(spool_wait(&spool, "hang", 1));
}

static void a_spool_that_cannot_be_written_stops_nothing(void **state) {
    (void)state;
    hangdog_options o = library_options(&spool);
    o.spool = "/proc/no-such-folder";
    assert_int_equal(hangdog_start(&o), 0);
    looper_start(&looper, "main", 0);
    looper_call(&looper, block_sleep, 2 * T);
    looper_stop(&looper);
    quick_stop();
}

/* ---- memory --------------------------------------------------------------------------------------- */

struct memory {
    uint64_t size, rss; /* of private mappings without a file, in bytes */
    uint64_t arenas;    /* part of size: the C library's, one for each thread that ever allocated */
};

#define ARENA_ALIGNMENT (64ul * 1024 * 1024) /* glibc's HEAP_MAX_SIZE */

static struct memory anonymous_memory(void) {
    struct memory sum = {0};
    char line[512];
    bool counts = false;
    FILE *maps = fopen("/proc/self/smaps", "r");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps) != NULL) {
        unsigned long from, to, kb;
        char mode[5], rest[256] = "";
        if (sscanf(line, "%lx-%lx %4s %*s %*s %*s %255s", &from, &to, mode, rest) >= 3) {
            counts = mode[3] == 'p' && mode[1] == 'w' && (rest[0] == '\0' || rest[0] == '[');
            sum.size += counts ? to - from : 0;
            sum.arenas += counts && from % ARENA_ALIGNMENT == 0 ? to - from : 0;
        } else if (counts && sscanf(line, "Anonymous: %lu kB", &kb) == 1) {
            sum.rss += kb * 1024;
        }
    }
    fclose(maps);
    return sum;
}

static int memory_role(void) {
    static char *argv_free; /* the C library's own, before: buffers, a first allocation */
    argv_free = malloc(64 * 1024);
    free(argv_free);
    hangdog_options o = library_options(&spool);
    (void)anonymous_memory(); /* what reading it takes is taken */
    struct memory before = anonymous_memory();
    int rc = hangdog_start(&o);
    hangdog_loop *loop = hangdog_loop_watch("main", 0);
    hangdog_before_wait(loop);
    hangdog_after_wait(loop);
    block_spin(2 * T);
    block_sleep(2 * T);
    hangdog_before_wait(loop);
    nap_ms(T);
    struct memory after = anonymous_memory();
    role_say(ROLE_FD, after.size - before.size);
    role_say(ROLE_FD, after.arenas - before.arenas);
    role_say(ROLE_FD, after.rss - before.rss);
    hangdog_loop_unwatch(loop);
    return rc != 0 || loop == NULL || hangdog_stop() != 0;
}

static void all_that_it_takes_is_1088_kibibytes(void **state) {
    (void)state;
    struct role role;
    role_start(&role, "memory", &spool);
    uint64_t size = role_hear(role.fd), arenas = role_hear(role.fd), rss = role_hear(role.fd);
    assert_int_equal(role_wait(&role), 0);
    print_message(
        "anonymous memory: %.0f KiB mapped (besides %.0f of the C library's arena), %.0f KiB in use of all\n",
        (double)(size - arenas) / 1024, (double)arenas / 1024, (double)rss / 1024);
    json_t *hangs = spool_wait(&spool, "hang", 1); /* it was at work */
    json_decref(hangs);
    if (!SANITIZED) {
        assert_in_range(size - arenas, 1, MEMORY_BYTES);
        assert_in_range(rss, 1, 1024 * 1024);
    }
}

/* Stopped before the loop is unwatched, which is then done later or never. */
static void a_watch_that_a_stop_ended_is_given_back(void **state) {
    (void)state;
    uint64_t before = 0;
    stack_t at_first, now;
    sigaltstack(NULL, &at_first);
    for (unsigned i = 0; i < 21; i++) {
        quick_start();
        hangdog_loop *loop = hangdog_loop_watch("main", 0);
        assert_non_null(loop);
        hangdog_before_wait(loop);
        quick_stop();
        if (i % 2 == 0) {
            hangdog_loop_unwatch(loop);
            sigaltstack(NULL, &now);
            assert_int_equal(now.ss_flags & SS_DISABLE, at_first.ss_flags & SS_DISABLE);
        }
        before = i == 0 ? anonymous_memory().size : before;
    }
    uint64_t more = anonymous_memory().size - before;
    if (!SANITIZED && more >= 64 * 1024) { /* one watch takes 72 KiB */
        fail_msg("%.0f KiB of 20 watches are left", (double)more / 1024);
    }
}

static int (*true_signal_thread)(int, int, int, uint64_t);

static atomic_bool is_late, naps; /* it is to be; the monitor is held up */

static int signal_late(int pid, int tid, int signal, uint64_t value) {
    bool own = tid == gettid(); /* who begins to be watched sends itself one */
    if (atomic_load(&is_late) && !own) {
        atomic_store(&naps, true);
        nap_ms(300);
        atomic_store(&naps, false);
    }
    return true_signal_thread(pid, tid, signal, value);
}

/* Begins and ends so many watches while a loop that runs for `ms` holds the monitor up: nobody waits longer
 * for it than 90 ms. The memory mapped, after the first of them and after the last. */
static void unwatch_while_late(unsigned watches, uint64_t ms, uint64_t *first, uint64_t *last) {
    true_signal_thread = hd_os.signal_thread;
    hd_os.signal_thread = signal_late;
    quick_start();
    looper_start(&looper, "main", 0);
    looper_post(&looper, block_spin, ms);
    atomic_store(&is_late, true);
    for (unsigned i = 0; i < ms && !atomic_load(&naps); i++) {
        nap_ms(1);
    }
    for (unsigned i = 0; i < watches; i++) {
        hangdog_loop_unwatch(hangdog_loop_watch("short", 0));
        *last = anonymous_memory().size;
        *first = i == 0 ? *last : *first;
    }
    atomic_store(&is_late, false);
    while (atomic_load(&naps)) {
        nap_ms(1);
    }
    looper_wait(&looper);
    looper_stop(&looper);
    quick_stop();
    hd_os.signal_thread = true_signal_thread;
}

static void a_watch_that_a_late_monitor_has_not_closed_is_used_again(void **state) {
    (void)state;
    uint64_t first = 0, last = 0;
    unwatch_while_late(31, 20 * T, &first, &last);
    if (!SANITIZED && last >= first + 512 * 1024) {
        fail_msg("%.0f KiB of 30 watches are left", (double)(last - first) / 1024);
    }
}

static void what_is_left_of_such_watches_goes_when_it_is_started_again(void **state) {
    (void)state;
    uint64_t before = 0, now = 0, any;
    for (unsigned i = 0; i < 6; i++) {
        unwatch_while_late(3, 4 * T, &any, &any);
        quick_start();
        now = anonymous_memory().size;
        before = i == 0 ? now : before;
        quick_stop();
    }
    if (!SANITIZED && now >= before + 128 * 1024) { /* one watch takes 72 KiB */
        fail_msg("%.0f KiB of 5 runs are left", (double)(now - before) / 1024);
    }
}

static void *stop_while_cancelled(void *result) {
    pthread_cancel(pthread_self());
    *(int *)result = hangdog_stop();
    pthread_testcancel();
    return NULL;
}

static void a_thread_that_is_cancelled_stops_it_first(void **state) {
    (void)state;
    for (unsigned i = 0; i < 3; i++) {
        pthread_t thread;
        int result = -1;
        void *end = NULL;
        quick_start();
        assert_int_equal(pthread_create(&thread, NULL, stop_while_cancelled, &result), 0);
        assert_int_equal(pthread_join(thread, &end), 0);
        assert_ptr_equal(end, PTHREAD_CANCELED);
        assert_int_equal(result, 0);
    }
}

static int no_table(void) {
    return -EPERM;
}

static int (*true_futex_wake)(uint32_t *, int, bool);

static int wake_slowly(uint32_t *word, int count, bool shared) {
    int woken = true_futex_wake(word, count, shared);
    hd_os_nap(10 * MS); /* no place to be cancelled at, as no call of the table is */
    return woken;
}

/* Not on the thread's stack: a cancelled thread leaves the address sanitizer's marks there, and its end meets
 * them. */
static hangdog_options of_cancelled;

static void *start_while_cancelled(void *result) {
    pthread_cancel(pthread_self());
    *(int *)result = hangdog_start(&of_cancelled);
    pthread_testcancel();
    return NULL;
}

/* It waits for the end of a thread that cannot be ours, and that takes a while. */
static void a_thread_that_is_cancelled_as_a_start_fails_leaves_nothing_half_done(void **state) {
    (void)state;
    int (*real_private_table)(void) = hd_os.private_table;
    true_futex_wake = hd_os.futex_wake;
    hd_os.private_table = no_table;
    hd_os.futex_wake = wake_slowly;
    of_cancelled = library_options(&spool);
    for (unsigned i = 0; i < 3; i++) {
        pthread_t thread;
        int result = 0;
        void *end = NULL;
        assert_int_equal(pthread_create(&thread, NULL, start_while_cancelled, &result), 0);
        assert_int_equal(pthread_join(thread, &end), 0);
        assert_ptr_equal(end, PTHREAD_CANCELED);
        assert_int_equal(result, -EPERM);
    }
    hd_os.private_table = real_private_table;
    hd_os.futex_wake = true_futex_wake;
    quick_start();
    quick_stop();
}

int main(int argc, char **argv) {
    library_quick_disk();
    if (argc == 3) {
        spool_open(&spool, argv[2]);
        return memory_role();
    }
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin_spool, end_library)
    const struct CMUnitTest tests[] = {
        CASE(ten_starts_and_stops_leave_nothing_behind),
        CASE(ten_runs_with_a_loop_leave_nothing_behind),
        CASE(starting_twice_and_stopping_twice),
        CASE(a_stop_in_mid_hang_is_quick_and_reports_the_hang),
        CASE(a_restart_in_mid_hang_reports_each_hang_once),
        CASE(a_thread_that_is_cancelled_stops_it_first),
        CASE(a_thread_that_is_cancelled_as_a_start_fails_leaves_nothing_half_done),
        CASE(a_handle_outlives_the_run),
        CASE(a_watch_that_a_stop_ended_is_given_back),
        CASE(a_watch_that_a_late_monitor_has_not_closed_is_used_again),
        CASE(what_is_left_of_such_watches_goes_when_it_is_started_again),
        CASE(no_loop_and_bad_arguments_do_no_harm),
        CASE(options_that_make_no_sense_start_nothing),
        CASE(an_older_programs_options_are_shorter),
        CASE(a_spool_that_cannot_be_written_stops_nothing),
        CASE(all_that_it_takes_is_1088_kibibytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
