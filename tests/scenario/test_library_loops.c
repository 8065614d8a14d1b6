/* SPDX-License-Identifier: MIT
 *
 * Several loops, watched by the library at a time: whose hang it is, and who is followed when more go on than
 * there are places.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "control/instance.h"
#include "library.h"

#define T THRESHOLD_MS
#define UNWATCHED 4

static void two_loops_have_their_own_thresholds(void **state) {
    (void)state;
    struct looper quick, slow;
    looper_start(&quick, "quick", 0);
    looper_start(&slow, "slow", 60 * SECOND);
    looper_post(&slow, block_sleep_other, 3 * T);
    looper_post(&quick, block_sleep, 2 * T);
    looper_wait(&quick);
    looper_wait(&slow);
    looper_stop(&quick);
    looper_stop(&slow);
    assert_int_equal(hangdog_stop(), 0);
    json_t *hangs = spool_wait(&spool, NULL, 1);
    assert_string_equal(report_text(json_object_get(json_array_get(hangs, 0), "loop"), "name"), "quick");
    assert_true(report_blames(json_array_get(hangs, 0), block_sleep));
    json_decref(hangs);
}

static const json_t *thread_of(const json_t *report, uint64_t tid) {
    const json_t *threads = json_object_get(report, "threads");
    for (size_t i = 0; i < json_array_size(threads); i++) {
        if (report_ns(json_array_get(threads, i), "tid") == tid) {
            return json_array_get(threads, i);
        }
    }
    return NULL;
}

static size_t watched_threads(const json_t *report) {
    const json_t *threads = json_object_get(report, "threads");
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(threads); i++) {
        count += json_is_true(json_object_get(json_array_get(threads, i), "watched"));
    }
    return count;
}

static uint64_t loop_tid(const json_t *report) {
    return report_ns(json_object_get(report, "loop"), "tid");
}

/* The slow one's hang begins first and is known as one last. */
static void reports_are_in_the_order_in_which_hangs_began(void **state) {
    (void)state;
    struct looper quick, slow;
    looper_start(&quick, "quick", 0);
    looper_start(&slow, "slow", 4 * T * MS);
    looper_post(&slow, block_sleep, 6 * T);
    nap_ms(T / 4);
    looper_call(&quick, block_sleep, 2 * T);
    looper_wait(&slow);
    json_t *hangs = spool_wait(&spool, "hang", 2);
    assert_string_equal(report_text(json_object_get(json_array_get(hangs, 0), "loop"), "name"), "slow");
    assert_string_equal(report_text(json_object_get(json_array_get(hangs, 1), "loop"), "name"), "quick");
    json_decref(hangs);
    looper_stop(&quick);
    looper_stop(&slow);
}

static void two_loops_that_hang_at_once_have_a_report_each(void **state) {
    (void)state;
    struct looper one, other;
    looper_start(&one, "one", 0);
    looper_start(&other, "other", 0);
    looper_post(&one, block_sleep, 3 * T);
    looper_post(&other, block_sleep_other, 2 * T);
    looper_wait(&other);
    looper_wait(&one);
    json_t *hangs = spool_wait(&spool, NULL, 2);
    for (unsigned i = 0; i < 2; i++) {
        const json_t *hang = json_array_get(hangs, i);
        bool is_one = strcmp(report_text(json_object_get(hang, "loop"), "name"), "one") == 0;
        assert_near(report_ns(hang, "duration_ns"), is_one ? one.took_ns : other.took_ns);
        assert_true(report_blames(hang, is_one ? block_sleep : block_sleep_other));
        /* the other threads, whoever opened first: and not itself, which has samples */
        assert_true(report_ns(json_object_get(hang, "process"), "thread_count") >= 3);
        const json_t *its_thread = thread_of(hang, loop_tid(json_array_get(hangs, 1 - i)));
        assert_true(json_is_true(json_object_get(its_thread, "watched")));
        assert_int_equal(watched_threads(hang), 1); /* the test's own is not */
        assert_null(thread_of(hang, loop_tid(hang)));
    }
    json_decref(hangs);
    looper_stop(&one);
    looper_stop(&other);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint64_t owner_tid;

static void keep_the_mutex(uint64_t ms) {
    pthread_mutex_lock(&mutex);
    atomic_store(&owner_tid, (uint64_t)gettid());
    block_sleep_other(ms);
    pthread_mutex_unlock(&mutex);
}

static void wait_for_the_mutex(uint64_t unused) {
    (void)unused;
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
}

static bool is_taken(void *unused) {
    (void)unused;
    return atomic_load(&owner_tid) != 0;
}

/* The older hang has the stack of the loop that is in its way, also when that hangs by now. */
static void writes_the_stack_of_another_hanging_loop(void **state) {
    (void)state;
    struct looper ui, work;
    looper_start(&ui, "ui", 0);
    looper_start(&work, "work", 3 * T * MS);
    looper_post(&work, keep_the_mutex, 6 * T);
    assert_true(wait_for(is_taken, NULL));
    looper_post(&ui, wait_for_the_mutex, 0);
    looper_wait(&ui);
    looper_wait(&work);
    json_t *hangs = spool_wait(&spool, NULL, 2);
    for (unsigned i = 0; i < 2; i++) {
        const json_t *hang = json_array_get(hangs, i);
        if (strcmp(report_text(json_object_get(hang, "loop"), "name"), "ui") == 0) {
            const json_t *owner = thread_of(hang, atomic_load(&owner_tid));
            assert_non_null(owner);
            assert_true(json_array_size(json_object_get(json_object_get(owner, "stack"), "frames")) > 2);
        }
    }
    json_decref(hangs);
    looper_stop(&ui);
    looper_stop(&work);
}

static void a_loop_that_is_watched_later_is_no_launch(void **state) {
    (void)state;
    looper_start(&looper, "first", 0);
    looper_call(&looper, block_sleep, 1); /* the program has launched */
    hangdog_loop *loop = hangdog_loop_watch("second", T * MS);
    assert_non_null(loop);
    block_sleep(2 * T); /* before its first wait */
    hangdog_before_wait(loop);
    json_t *hangs = spool_wait(&spool, NULL, 1);
    assert_string_equal(report_text(json_array_get(hangs, 0), "kind"), "hang");
    assert_near(report_ns(json_array_get(hangs, 0), "duration_ns"), 2 * T * MS);
    json_decref(hangs);
    hangdog_loop_unwatch(loop);
    looper_stop(&looper);
}

static void six_loops_that_hang_at_once_are_all_counted(void **state) {
    (void)state;
    static struct looper six[6];
    for (unsigned i = 0; i < 6; i++) {
        looper_start(&six[i], "one of six", 0);
    }
    for (unsigned i = 0; i < 4; i++) {
        looper_post(&six[i], block_sleep, 8 * T);
    }
    nap_ms(6 * INTERVAL_MS);
    for (unsigned i = 4; i < 6; i++) { /* begin later and end sooner: no place is free for them */
        looper_post(&six[i], block_sleep, 3 * T);
    }
    for (unsigned i = 0; i < 6; i++) {
        looper_wait(&six[i]);
        looper_stop(&six[i]);
    }
    assert_int_equal(hangdog_stop(), 0);
    json_t *hangs = spool_wait(&spool, "hang", 4);
    json_t *sessions = spool_wait(&spool, "session", 1);
    const json_t *session = json_object_get(json_array_get(sessions, 0), "session");
    const json_t *suppressed = json_array_get(json_object_get(session, "suppressed"), 0);
    assert_int_equal(report_ns(session, "hangs"), 6);
    assert_int_equal(report_ns(suppressed, "count"), 2);
    assert_near(report_ns(suppressed, "max_ns"), 3 * T * MS);
    json_decref(hangs);
    json_decref(sessions);
}

/* Turns that are long and no hangs are followed too, and stand aside for one. */
static void follows_a_hang_among_short_turns(void **state) {
    (void)state;
    struct looper slow[4];
    looper_start(&looper, "quick", 0);
    for (unsigned i = 0; i < 4; i++) {
        looper_start(&slow[i], "slow", 60 * SECOND);
        looper_call(&slow[i], block_sleep, 1);
        looper_post(&slow[i], block_sleep_other, 5 * T);
    }
    nap_ms(6 * INTERVAL_MS);
    uint64_t took = looper_call(&looper, block_sleep, 2 * T);
    for (unsigned i = 0; i < 4; i++) {
        looper_wait(&slow[i]);
    }
    json_t *hangs = spool_wait(&spool, "hang", 1);
    assert_near(report_ns(json_array_get(hangs, 0), "duration_ns"), took);
    assert_true(report_blames(json_array_get(hangs, 0), block_sleep));
    json_decref(hangs);
    for (unsigned i = 0; i < 4; i++) {
        looper_stop(&slow[i]);
    }
    looper_stop(&looper);
    assert_int_equal(hangdog_stop(), 0);
    json_decref(spool_wait(&spool, NULL, 1));
}

/* Looks at a turn that has lasted for ten seconds are one second apart, and at no other. */
static void watches_other_loops_while_one_is_stuck(void **state) {
    (void)state;
    struct looper stuck;
    uint64_t took[5];
    looper_start(&stuck, "stuck", 0);
    looper_start(&looper, "quick", 0);
    looper_post(&stuck, block_sleep_other, 14000);
    nap_ms(10500);
    for (unsigned i = 0; i < 5; i++) {
        took[i] = looper_call(&looper, block_sleep, 2 * T);
        nap_ms(T);
    }
    looper_wait(&stuck);
    json_t *hangs = spool_wait(&spool, NULL, 6);
    for (unsigned i = 0; i < 5; i++) {
        const json_t *hang = json_array_get(hangs, i + 1);
        assert_near(report_ns(hang, "duration_ns"), took[i]);
        assert_true(report_blames(hang, block_sleep));
    }
    json_decref(hangs);
    looper_stop(&stuck);
    looper_stop(&looper);
}

static int (*true_signal_thread)(int, int, int, uint64_t);
static atomic_uint unheard;

/* Of these: those that the thread `first_tid` was to hear, and those for which somebody had to wait. */
static atomic_int first_tid;
static atomic_uint first_wakes_monitor;
static _Atomic(struct hd_run *) stopped;
static _Atomic(struct hd_watch *) fifth;
static atomic_uint others_wake_monitor;

static bool any_wakes_monitor(void) {
    const struct hd_run *m = atomic_load(&stopped);
    const struct hd_watch *w = atomic_load(&fifth);
    return (m != NULL && atomic_load(&m->channel.stop.requested)) ||
           (w != NULL && atomic_load(&w->use) == HD_WATCH_LEAVING);
}

static int lose(int pid, int tid, int signal, uint64_t value) {
    (void)pid;
    (void)signal;
    (void)value;
    atomic_fetch_add(&others_wake_monitor, any_wakes_monitor());
    atomic_fetch_add(&first_wakes_monitor, tid == atomic_load(&first_tid));
    atomic_fetch_add(&unheard, 1);
    return 0;
}

static int begin_unheard(void **state) {
    true_signal_thread = hd_os.signal_thread;
    hd_os.signal_thread = lose;
    atomic_store(&unheard, 0);
    return begin_library(state);
}

static int end_unheard(void **state) {
    int rc = end_library(state);
    hd_os.signal_thread = true_signal_thread;
    return rc;
}

/* The monitor waits for each of them in turn, longer than it is late for any other reason but a stop. */
static void loops_that_give_no_answer_are_not_taken_for_stopped(void **state) {
    (void)state;
    static struct looper four[4];
    for (unsigned i = 0; i < 4; i++) {
        looper_start(&four[i], "spinning", 0);
    }
    for (unsigned i = 0; i < 4; i++) {
        looper_post(&four[i], block_spin, 10 * T);
    }
    for (unsigned i = 0; i < 4; i++) {
        looper_wait(&four[i]);
        looper_stop(&four[i]);
    }
    assert_true(atomic_load(&unheard) > 8);
    json_t *hangs = spool_wait(&spool, NULL, 4);
    for (unsigned i = 0; i < 4; i++) {
        const json_t *excluded = json_object_get(json_array_get(hangs, i), "excluded_ns");
        assert_true(excluded == NULL ||
                    json_integer_value(excluded) < (int64_t)(2 * T * MS)); /* a machine may stall */
    }
    json_decref(hangs);
}

static struct looper four[4];

static void note_tid(uint64_t unused) {
    (void)unused;
    atomic_store(&first_tid, gettid());
}

static void four_spin(uint64_t ms) {
    for (unsigned i = 0; i < 4; i++) {
        looper_start(&four[i], "spinning", 0);
    }
    atomic_store(&others_wake_monitor, 0);
    looper_call(&four[0], note_tid, 0);
    for (unsigned i = 0; i < 4; i++) {
        looper_post(&four[i], block_spin, ms);
    }
}

static void four_end(void) {
    for (unsigned i = 0; i < 4; i++) {
        looper_wait(&four[i]);
        looper_stop(&four[i]);
    }
}

static bool first_wakes_again(void *before) {
    return atomic_load(&first_wakes_monitor) != *(unsigned *)before;
}

/* A look has just begun, and will ask three others. */
static void wait_for_a_look(void) {
    unsigned before = atomic_load(&first_wakes_monitor);
    assert_true(wait_for(first_wakes_again, &before));
}

static void a_stop_waits_for_one_of_them_and_not_for_all(void **state) {
    (void)state;
    four_spin(10 * T);
    atomic_store(&stopped, hd_run_current());
    wait_for_a_look();
    assert_int_equal(hangdog_stop(), 0);
    atomic_store(&stopped, NULL);
    assert_in_range(atomic_load(&others_wake_monitor), 0, 1);
    four_end();
}

static bool is_on(void *watch) {
    return atomic_load(&((struct hd_watch *)watch)->use) == HD_WATCH_ON;
}

static bool is_free(void *watch) {
    return atomic_load(&((struct hd_watch *)watch)->use) == HD_WATCH_FREE;
}

static void so_does_a_loop_that_is_unwatched(void **state) {
    (void)state;
    four_spin(20 * T);
    for (unsigned i = 0; i < UNWATCHED; i++) {
        hangdog_loop *loop = hangdog_loop_watch("fifth", 0);
        hangdog_before_wait(loop);
        assert_true(wait_for(is_on, loop));
        atomic_store(&fifth, (struct hd_watch *)(void *)loop);
        wait_for_a_look();
        hangdog_loop_unwatch(loop);
        assert_true(wait_for(is_free, loop)); /* where the machine made it late */
        atomic_store(&fifth, NULL);
    }
    assert_in_range(atomic_load(&others_wake_monitor), 0, UNWATCHED);
    four_end();
}

static bool record_has(void *loop) {
    const struct hd_run *m = hd_run_current();
    const struct hd_watch *w = loop;
    return atomic_load(&m->record->open.state) == HD_RECORD_HANG_LASTS &&
           atomic_load(&m->channel.open_loop) == w->index;
}

/* What the process would leave behind if it were killed. */
static void when_a_hang_ends_the_record_has_the_other_one(void **state) {
    (void)state;
    struct looper one, other;
    looper_start(&one, "one", 0);
    looper_start(&other, "other", 0);
    looper_post(&one, block_sleep, 10 * T);
    assert_true(wait_for(record_has, one.loop));
    looper_post(&other, block_sleep_other, 20 * T);
    looper_wait(&one);
    uint64_t ended_ns = now_ns();
    assert_true(wait_for(record_has, other.loop)); /* at once: its report is written next at 16 T */
    assert_true(now_ns() - ended_ns > 4 * T * MS ||
                atomic_load(&hd_run_current()->record->open.duration_ns) < 15 * T * MS);
    looper_wait(&other);
    looper_stop(&one);
    looper_stop(&other);
}

static void spin_during_an_inner_loop(uint64_t ms) {
    hangdog_loop *inner = hangdog_loop_watch("inner", 60 * SECOND);
    block_spin(ms);
    hangdog_loop_unwatch(inner);
}

static void a_second_watch_on_a_thread_takes_nothing_from_the_first(void **state) {
    (void)state;
    looper_start(&looper, "outer", 0);
    looper_call(&looper, block_sleep, 1);
    looper_call(&looper, spin_during_an_inner_loop, 2 * T);
    looper_call(&looper, block_spin, 2 * T);
    json_t *hangs = spool_wait(&spool, "hang", 2);
    for (unsigned i = 0; i < 2; i++) {
        assert_true(report_blames(json_array_get(hangs, i), block_spin));
    }
    json_decref(hangs);
    looper_stop(&looper);
    assert_int_equal(hangdog_stop(), 0);
}

int main(void) {
    library_quick_disk();
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin_library, end_library)
#define UNHEARD(name) cmocka_unit_test_setup_teardown(name, begin_unheard, end_unheard)
    const struct CMUnitTest side_by_side[] = {
        CASE(watches_other_loops_while_one_is_stuck),
        CASE(two_loops_have_their_own_thresholds),
        CASE(reports_are_in_the_order_in_which_hangs_began),
        CASE(two_loops_that_hang_at_once_have_a_report_each),
        CASE(writes_the_stack_of_another_hanging_loop),
        CASE(when_a_hang_ends_the_record_has_the_other_one),
        CASE(a_loop_that_is_watched_later_is_no_launch),
        CASE(six_loops_that_hang_at_once_are_all_counted),
        CASE(follows_a_hang_among_short_turns),
    };
    const struct CMUnitTest one_by_one[] = {
        UNHEARD(loops_that_give_no_answer_are_not_taken_for_stopped),
        UNHEARD(a_stop_waits_for_one_of_them_and_not_for_all),
        UNHEARD(so_does_a_loop_that_is_unwatched),
        CASE(a_second_watch_on_a_thread_takes_nothing_from_the_first),
    };
    int failed = run_side_by_side(side_by_side, sizeof side_by_side / sizeof side_by_side[0]);
    return failed + cmocka_run_group_tests(one_by_one, NULL, NULL);
}
