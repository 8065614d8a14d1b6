/* SPDX-License-Identifier: MIT
 *
 * Loops that come and go: many, at once, and with handles of a run before.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "control/instance.h"
#include "library.h"

#define T THRESHOLD_MS

/* By one thread, which unwatches them in the end. */
static void two_hundred_and_fifty_six_loops_and_no_more(void **state) {
    (void)state;
    library_start(&spool);
    hangdog_loop *loops[256];
    for (unsigned i = 0; i < 256; i++) {
        loops[i] = hangdog_loop_watch("one of many", 0);
        assert_non_null(loops[i]);
        hangdog_before_wait(loops[i]);
    }
    assert_null(hangdog_loop_watch("too many", 0));
    for (unsigned i = 0; i < 256; i++) {
        hangdog_loop_unwatch(loops[i]);
    }
    for (unsigned i = 0; i < 100; i++) { /* slots come back */
        hangdog_loop *loop = hangdog_loop_watch("again", 0);
        assert_non_null(loop);
        hangdog_before_wait(loop);
        hangdog_loop_unwatch(loop);
    }
    assert_int_equal(hangdog_stop(), 0);
}

/* The last of all, of a block that is used again by the next run. Each loop takes descriptors, of which a
 * process has 1,024 unless it asks for more. */
static void a_loop_behind_many_others_is_watched(void **state) {
    (void)state;
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_cur < 1024 ? limit.rlim_cur : 1024;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    for (unsigned run = 0; run < 2; run++) {
        library_start(&spool);
        hangdog_loop *loops[255];
        for (unsigned i = 0; i < 255; i++) {
            loops[i] = hangdog_loop_watch("one of many", 0);
            hangdog_before_wait(loops[i]);
        }
        looper_start(&looper, "the last", 0);
        looper_call(&looper, block_sleep, 1);
        looper_call(&looper, block_sleep,
                    (SANITIZED ? 30 : 10) * T); /* until all the others are opened, too */
        json_t *hangs = spool_wait(&spool, "hang", run + 1);
        const json_t *hang = json_array_get(hangs, run);
        assert_string_equal(report_text(json_object_get(hang, "loop"), "name"), "the last");
        assert_true(report_blames(hang, block_sleep));
        json_decref(hangs);
        looper_stop(&looper);
        for (unsigned i = 0; i < 255; i++) {
            hangdog_loop_unwatch(loops[i]);
        }
        assert_int_equal(hangdog_stop(), 0);
    }
}

/* The last that a test does with its looper. */
static void expect_a_report_of_a_hang(void) {
    looper_call(&looper, block_sleep, 2 * T);
    json_t *hangs = spool_wait(&spool, "hang", 1);
    assert_true(report_blames(json_array_get(hangs, 0), block_sleep));
    json_decref(hangs);
    looper_stop(&looper);
    assert_int_equal(hangdog_stop(), 0);
}

/* Before the monitor has seen them. */
static void loops_that_are_unwatched_at_once_do_no_harm(void **state) {
    (void)state;
    library_start(&spool);
    for (unsigned i = 0; i < 300; i++) {
        hangdog_loop *loop = hangdog_loop_watch("short", 0);
        assert_non_null(loop);
        hangdog_loop_unwatch(loop);
    }
    looper_start(&looper, "main", 0);
    looper_call(&looper, block_sleep, 1);
    expect_a_report_of_a_hang();
}

/* A handle is a slot, and the slot is another loop's by now. */
static void an_old_handle_ends_no_new_watch(void **state) {
    (void)state;
    library_start(&spool);
    hangdog_loop *loop = hangdog_loop_watch("first", 0);
    assert_non_null(loop);
    hangdog_before_wait(loop);
    assert_int_equal(hangdog_stop(), 0);
    library_start(&spool);
    looper_start(&looper, "main", 0);
    looper_call(&looper, block_sleep, 1);
    assert_ptr_equal(looper.loop, loop);
    hangdog_loop_unwatch(loop);
    expect_a_report_of_a_hang();
}

/* What a program that gives up its rights at once could not have opened afterwards. A machine with too much
 * to do may need longer than a watch waits, now and then. */
static void a_watch_that_has_begun_is_open(void **state) {
    (void)state;
    unsigned open = 0, rounds = 40;
    library_start(&spool);
    for (unsigned i = 0; i < rounds; i++) {
        hangdog_loop *loop = hangdog_loop_watch("at once", 0);
        assert_non_null(loop);
        open += atomic_load(&((struct hd_watch *)(void *)loop)->use) == HD_WATCH_ON;
        hangdog_loop_unwatch(loop);
    }
    assert_in_range(open, rounds * 3 / 4, rounds);
    assert_int_equal(hangdog_stop(), 0);
}

/* The thread sanitizer looks on as the monitor, the worker, the loop and two that set things meet all the
 * time.
 */
static void *set_things(void *over) {
    for (unsigned i = 0; !__atomic_load_n((bool *)over, __ATOMIC_RELAXED); i++) {
        hangdog_set_state(i % 2 ? HANGDOG_STATE_FOREGROUND : HANGDOG_STATE_BACKGROUND);
        nap_ms(1);
    }
    return NULL;
}

static void a_threshold_of_ten_milliseconds_for_two_seconds(void **state) {
    (void)state;
    hangdog_options o = library_options(&spool);
    for (unsigned i = 0; i < HANGDOG_STATES; i++) {
        o.threshold_ns[i] = 10 * MS;
    }
    o.interval_ns = MS;
    assert_int_equal(hangdog_start(&o), 0);
    looper_start(&looper, "main", 0);
    bool over = false;
    pthread_t setters[2];
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&setters[i], NULL, set_things, &over), 0);
    }
    for (uint64_t end = now_ns() + 2 * SECOND; now_ns() < end;) {
        looper_call(&looper, block_sleep, 15);
        looper_call(&looper, block_sleep, 2);
    }
    __atomic_store_n(&over, true, __ATOMIC_RELAXED);
    for (unsigned i = 0; i < 2; i++) {
        pthread_join(setters[i], NULL);
    }
    spool_wait_for_one(&spool);
    looper_stop(&looper);
    assert_int_equal(hangdog_stop(), 0);
}

/* Our threads without that bit, which nothing but the thread itself can set. */
static int count_with_new_privileges(void) {
    int count = 0;
    char path[300], line[256];
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    for (struct dirent *e; (e = readdir(tasks)) != NULL;) {
        snprintf(path, sizeof path, "/proc/self/task/%s/status", e->d_name);
        FILE *status = fopen(path, "re");
        bool ours = false;
        while (status != NULL && fgets(line, sizeof line, status) != NULL) {
            ours |= strncmp(line, "Name:\thangdog", 13) == 0;
            count += ours && strcmp(line, "NoNewPrivs:\t0\n") == 0;
        }
        if (status != NULL) {
            fclose(status);
        }
    }
    closedir(tasks);
    return count;
}

/* The last: it stays so. */
static void what_the_main_thread_gives_up_our_threads_do(void **state) {
    (void)state;
    library_start(&spool);
    looper_start(&looper, "main", 0);
    looper_call(&looper, block_sleep, 1);
    for (unsigned i = 0; i < 500 && count_with_new_privileges() != 2;
         i++) { /* a slow worker of a run before */
        looper_call(&looper, block_sleep, 10);
    }
    assert_int_equal(count_with_new_privileges(), 2);
    assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
    for (unsigned i = 0; i < 1000 && count_with_new_privileges() != 0; i++) {
        looper_call(&looper, block_sleep, 10);
    }
    assert_int_equal(count_with_new_privileges(), 0);
    looper_call(&looper, block_sleep, 3 * T);
    json_t *hangs = spool_wait(&spool, "hang", 1);
    assert_true(report_blames(json_array_get(hangs, 0), block_sleep));
    json_decref(hangs);
    looper_stop(&looper);
    assert_int_equal(hangdog_stop(), 0);
}

int main(void) {
    library_quick_disk();
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin_spool, end_library)
    const struct CMUnitTest tests[] = {
        CASE(loops_that_are_unwatched_at_once_do_no_harm),
        CASE(an_old_handle_ends_no_new_watch),
        CASE(two_hundred_and_fifty_six_loops_and_no_more),
        CASE(a_loop_behind_many_others_is_watched),
        CASE(a_watch_that_has_begun_is_open),
        CASE(a_threshold_of_ten_milliseconds_for_two_seconds),
        CASE(what_the_main_thread_gives_up_our_threads_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
