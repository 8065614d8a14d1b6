/* SPDX-License-Identifier: MIT
 *
 * A loop that tells nothing, and that tasks can be posted to: pings find its hangs, and only those.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>

#include "library.h"

#define T THRESHOLD_MS
#define PERIOD_MS 20

struct task {
    void (*run)(void *);
    void *argument;
};

/* A loop by a pipe: what is written to it runs on its thread. */
static struct {
    pthread_t thread;
    int ends[2];
    _Atomic unsigned pings;
    _Atomic bool refuses, leave, slow, posting;
    _Atomic uint64_t froze_ns;
    int again;
    bool posts_on; /* after unwatch */
} own;

static int post(void *context, void (*run)(void *), void *argument) {
    struct task task = {run, argument};
    assert_ptr_equal(context, &own);
    atomic_fetch_add(&own.pings, 1);
    if (atomic_load(&own.slow)) { /* it waits for the queue's lock */
        atomic_store(&own.posting, true);
        nap_ms(50);
        atomic_store(&own.posting, false);
    }
    return !atomic_load(&own.refuses) && write(own.ends[1], &task, sizeof task) == sizeof task ? 0 : 1;
}

static void *run_loop(void *unused) {
    struct task task;
    hangdog_loop *loop = hangdog_loop_watch("pinged", 0);
    (void)unused;
    int rc = hangdog_watch_ping(loop, post, &own);
    own.again = rc != 0 ? rc : hangdog_watch_ping(loop, post, &own);
    while (!atomic_load(&own.leave) && read(own.ends[0], &task, sizeof task) == sizeof task) {
        task.run(task.argument);
    }
    hangdog_loop_unwatch(loop);
    own.posts_on = atomic_load(&own.posting);
    return NULL;
}

static void leave(void *unused) {
    (void)unused;
    atomic_store(&own.leave, true);
}

static void freeze(void *unused) {
    uint64_t from_ns = now_ns();
    (void)unused;
    block_sleep(3 * T);
    atomic_store(&own.froze_ns, now_ns() - from_ns);
}

static void do_in_loop(void (*run)(void *)) {
    struct task task = {.run = run};
    assert_int_equal(write(own.ends[1], &task, sizeof task), sizeof task);
}

static bool has_pings(void *count) {
    return atomic_load(&own.pings) >= *(unsigned *)count;
}

static void wait_for_pings(unsigned more) {
    unsigned count = atomic_load(&own.pings) + more;
    assert_true(wait_for(has_pings, &count));
}

static int begin(void **state) {
    begin_spool(state);
    hangdog_options options = library_options(&spool);
    options.ping_period_ns = PERIOD_MS * MS;
    assert_int_equal(hangdog_start(&options), 0);
    own.pings = 0;
    own.refuses = own.leave = own.slow = own.posting = false;
    own.froze_ns = 0;
    assert_int_equal(pipe(own.ends), 0);
    assert_int_equal(pthread_create(&own.thread, NULL, run_loop, NULL), 0);
    wait_for_pings(3);
    return 0;
}

static void end_loop(void) {
    do_in_loop(leave);
    pthread_join(own.thread, NULL);
    close(own.ends[0]);
    close(own.ends[1]);
}

static void a_loop_that_answers_has_no_hang(void **state) {
    (void)state;
    assert_int_equal(own.again, -EALREADY);
    wait_for_pings(10);
    nap_ms(2 * T);
    end_loop();
    unsigned pings = atomic_load(&own.pings);
    nap_ms(4 * PERIOD_MS);
    assert_int_equal(atomic_load(&own.pings), pings); /* none after the watch */
    assert_int_equal(hangdog_stop(), 0);
    spool_expect(&spool, 0);
    json_t *sessions = spool_wait(&spool, "session", 1);
    const json_t *session = json_object_get(json_array_get(sessions, 0), "session");
    assert_true(report_ns(session, "turns") >= 10);
    assert_true(report_ns(session, "idle_ns") > report_ns(session, "busy_ns") || SANITIZED);
    json_decref(sessions);
}

/* From the first ping that met it on. */
static void a_ping_without_an_answer_is_a_hang(void **state) {
    (void)state;
    do_in_loop(freeze);
    json_t *hangs = spool_wait(&spool, "hang", 1);
    const json_t *hang = json_array_get(hangs, 0), *loop = json_object_get(hang, "loop");
    uint64_t ns = report_ns(hang, "duration_ns"), froze_ns = atomic_load(&own.froze_ns);
    assert_string_equal(report_text(loop, "scheme"), "ping");
    assert_string_equal(report_text(loop, "name"), "pinged");
    assert_string_equal(report_cause(hang), "sleep");
    assert_true(report_blames(hang, block_sleep));
    assert_true(SLOW || (ns <= froze_ns + T / 2 * MS && ns + (PERIOD_MS + T) * MS >= froze_ns));
    json_decref(hangs);
    end_loop();
    assert_int_equal(hangdog_stop(), 0);
    spool_expect(&spool, 1);
}

static void a_loop_that_takes_no_tasks_does_not_hang(void **state) {
    (void)state;
    atomic_store(&own.refuses, true);
    wait_for_pings(2 * T / PERIOD_MS);
    end_loop();
    assert_int_equal(hangdog_stop(), 0);
    spool_expect(&spool, 0);
}

/* A stop ends the pings; the loop's thread unwatches later. */
static void a_stop_ends_the_pings(void **state) {
    (void)state;
    assert_int_equal(hangdog_stop(), 0);
    nap_ms(4 * PERIOD_MS);
    unsigned pings = atomic_load(&own.pings);
    nap_ms(4 * PERIOD_MS);
    assert_int_equal(atomic_load(&own.pings), pings);
    library_start(&spool);
    nap_ms(4 * PERIOD_MS);
    assert_int_equal(atomic_load(&own.pings), pings);
    end_loop();
    assert_int_equal(hangdog_stop(), 0);
}

static bool is_posting(void *unused) {
    (void)unused;
    return atomic_load(&own.posting);
}

/* Then the program may free what it posts to. */
static void unwatch_after_a_stop_waits_for_the_post(void **state) {
    (void)state;
    atomic_store(&own.slow, true);
    assert_true(wait_for(is_posting, NULL));
    assert_int_equal(hangdog_stop(), 0);
    end_loop();
    assert_false(own.posts_on);
}

static void nothing_is_pinged_without_a_loop(void **state) {
    (void)state;
    assert_int_equal(hangdog_watch_ping(NULL, post, NULL), -EINVAL);
    end_loop();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_loop_that_answers_has_no_hang, begin, end_library),
        cmocka_unit_test_setup_teardown(a_ping_without_an_answer_is_a_hang, begin, end_library),
        cmocka_unit_test_setup_teardown(a_loop_that_takes_no_tasks_does_not_hang, begin, end_library),
        cmocka_unit_test_setup_teardown(a_stop_ends_the_pings, begin, end_library),
        cmocka_unit_test_setup_teardown(unwatch_after_a_stop_waits_for_the_post, begin, end_library),
        cmocka_unit_test_setup_teardown(nothing_is_pinged_without_a_loop, begin, end_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
