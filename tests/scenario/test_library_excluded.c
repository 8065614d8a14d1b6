/* SPDX-License-Identifier: MIT
 *
 * What must not count as a hang, and what is taken off one: a stopped process, a forked child; and a clean
 * exit in mid-hang.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/wait.h>
#include <unistd.h>

#include "library.h"
#include "os/os.h"

#define T THRESHOLD_MS
#define STOP_AT_SIGNAL 5

static void start_with_loop(void) {
    library_start(&spool);
    looper_start(&looper, "main", 0);
}

static void expect_reports(size_t count) {
    looper_stop(&looper);
    assert_int_equal(hangdog_stop(), 0);
    spool_expect(&spool, count);
}

/* ---- a stopped process ---------------------------------------------------------------------------- */

/* A session without a turn is none, and the first one may end before it is watched. */
static void start_with_turns(void) {
    start_with_loop();
    for (unsigned i = 0; i < 3; i++) {
        looper_call(&looper, block_sleep, INTERVAL_MS);
    }
}

static int idle_role(void) {
    start_with_turns();
    role_say(ROLE_FD, 0);
    role_hear(ROLE_FD);
    looper_stop(&looper);
    return -hangdog_stop();
}

/* Scenario 15. */
static void stopped_while_idle_it_does_not_hang(void **state) {
    (void)state;
    struct role role;
    role_start(&role, "idle", &spool);
    role_hear(role.fd);
    role_stop_for(&role, 5 * T);
    role_say(role.fd, 0);
    assert_int_equal(role_wait(&role), 0);
    spool_expect(&spool, 0);
    json_decref(spool_wait(&spool, "session", 1));
}

/* A breakpoint in the code that starts it. */
static int stopped_first_role(void) {
    library_start(&spool);
    nap_ms(10);
    raise(SIGSTOP);
    hangdog_loop *loop = hangdog_loop_watch("main", 0);
    hangdog_before_wait(loop);
    nap_ms(INTERVAL_MS);
    hangdog_after_wait(loop);
    hangdog_loop_unwatch(loop);
    return -hangdog_stop();
}

static void stopped_before_its_loop_is_watched_it_does_not_hang(void **state) {
    (void)state;
    struct role role;
    role_start(&role, "stopped-first", &spool);
    role_stopped_for(&role, 2000 + T, 0);
    assert_int_equal(role_wait(&role), 0);
    spool_expect(&spool, 0);
    json_decref(spool_wait(&spool, "session", 1));
}

static int hang_role(void (*block)(uint64_t)) {
    start_with_loop();
    role_say(ROLE_FD, looper_call(&looper, block, 3000));
    looper_call(&looper, block_sleep_other, 2 * T); /* another hang, in which nothing is stopped */
    looper_stop(&looper);
    return -hangdog_stop();
}

/* The most that the monitor was late or made a thread pause is told of each hang, and of the whole run. */
static void expect_each_its_own_most(const json_t *hangs) {
    const json_t *first = json_object_get(json_array_get(hangs, 0), "monitor");
    const json_t *second = json_object_get(json_array_get(hangs, 1), "monitor");
    json_t *sessions = spool_wait(&spool, "session", 1);
    const json_t *all = json_object_get(json_array_get(sessions, 0), "monitor");
    assert_true(report_ns(first, "late_max_ns") >= SECOND);
    assert_true(report_ns(second, "late_max_ns") < SECOND);
    assert_true(report_ns(first, "pause_max_ns") <= report_ns(first, "pause_total_ns"));
    assert_true(report_ns(second, "pause_max_ns") <= report_ns(second, "pause_total_ns"));
    assert_true(report_ns(all, "late_max_ns") >= SECOND);
    assert_true(report_ns(all, "pause_max_ns") >= report_ns(first, "pause_max_ns"));
    assert_true(report_ns(all, "pause_max_ns") >= report_ns(second, "pause_max_ns"));
    json_decref(sessions);
}

static void stop_in_mid_hang(const char *name, const char *cause) {
    struct role role;
    role_start(&role, name, &spool);
    spool_wait_for_one(&spool);
    struct between stopped = role_stop_for(&role, 1500);
    uint64_t took = role_hear(role.fd);
    assert_int_equal(role_wait(&role), 0);
    json_t *hangs = spool_wait(&spool, NULL, 2);
    const json_t *hang = json_array_get(hangs, 0);
    assert_between(report_ns(hang, "duration_ns"),
                   (struct between){took - stopped.most_ns, took - stopped.least_ns});
    assert_between(report_ns(hang, "excluded_ns"), stopped);
    const json_t *hot =
        json_object_get(hang, "hot_stack"); /* who happened to be on the stack is not blamed for it */
    assert_true(report_ns(hot, "duration_ns") <= report_ns(hang, "duration_ns"));
    const json_t *timeline = json_object_get(json_object_get(hang, "samples"), "timeline");
    uint64_t sampled = 0;
    for (size_t i = 0; i < json_array_size(timeline); i++) {
        sampled += report_ns(json_array_get(timeline, i), "for_ns");
    }
    assert_true(sampled <= report_ns(hang, "duration_ns"));
    /* Where others want the processors too, the kernel's figures say so, and so does the report. */
    bool short_of_processors = strcmp(cause, "cpu") == 0 && strcmp(report_cause(hang), "starved") == 0;
    if (!SANITIZED && !short_of_processors) {
        assert_string_equal(report_cause(hang), cause);
        const json_t *ran = json_object_get(json_object_get(hang, "process"), "cpu_percent");
        assert_true(strcmp(cause, "cpu") != 0 || ran == NULL || json_number_value(ran) > 40);
    }
    expect_each_its_own_most(hangs);
    json_decref(hangs);
}

static void a_stop_is_taken_off_a_sleeping_hang(void **state) {
    (void)state;
    stop_in_mid_hang("sleep", "sleep");
}

static void a_stop_is_taken_off_a_running_hang(void **state) {
    (void)state;
    stop_in_mid_hang("spin", "cpu");
}

/* Another stack at each sample, so that there is something to write. */
static void change(uint64_t ms) {
    for (uint64_t i = 0; i < ms; i += 4 * INTERVAL_MS) {
        block_sleep(2 * INTERVAL_MS);
        block_sleep_other(2 * INTERVAL_MS);
    }
}

static int changing_role(void) {
    start_with_loop();
    looper_call(&looper, change, 4 * T + 2000);
    looper_stop(&looper);
    return -hangdog_stop();
}

/* Two of one kind and name in a row would be told as one: there is the other end between. */
static unsigned files_moved_in(int inotify_fd) {
    _Alignas(struct inotify_event) char buf[65536];
    unsigned count = 0;
    for (ssize_t n; (n = read(inotify_fd, buf, sizeof buf)) > 0;) {
        for (ssize_t at = 0; at < n;) {
            struct inotify_event event;
            memcpy(&event, buf + at, sizeof event);
            count += (event.mask & IN_MOVED_TO) != 0;
            at += (ssize_t)(sizeof event + event.len);
        }
    }
    return count;
}

/* At twice the hang's age each time: the stop is in neither. */
static void writes_a_report_no_more_often_after_a_stop(void **state) {
    (void)state;
    struct role role;
    int inotify_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    assert_true(inotify_add_watch(inotify_fd, spool.path, IN_MOVE) >= 0);
    role_start(&role, "changing", &spool);
    spool_wait_for_one(&spool);
    nap_ms(T);
    role_stop_for(&role, 3000);
    assert_int_equal(role_wait(&role), 0);
    json_decref(spool_wait(&spool, NULL, 1));
    json_decref(spool_wait(&spool, "session", 1));
    assert_in_range(files_moved_in(inotify_fd), 3, 8); /* at 1, 2, 4, 8 T, its end; and the session */
    close(inotify_fd);
}

static int (*true_signal_thread)(int, int, int, uint64_t);
static _Atomic uint64_t stopped_at_ns;

/* The monitor is in mid-look, about to ask for a sample, when everything stops. */
static int stop_then_signal(int pid, int tid, int signal, uint64_t value) {
    static atomic_int calls;
    if (atomic_fetch_add(&calls, 1) == STOP_AT_SIGNAL) {
        atomic_store(&stopped_at_ns, now_ns());
        raise(SIGSTOP);
    }
    return true_signal_thread(pid, tid, signal, value);
}

static int stop_itself_role(void) {
    true_signal_thread = hd_os.signal_thread;
    hd_os.signal_thread = stop_then_signal;
    int rc = hang_role(block_spin);
    role_say(ROLE_FD, atomic_load(&stopped_at_ns));
    return rc;
}

static void a_stop_in_the_middle_of_a_look_is_taken_off(void **state) {
    (void)state;
    struct role role;
    role_start(&role, "stop-itself", &spool);
    struct between stopped = role_stopped_for(&role, 1500, 0);
    uint64_t took = role_hear(role.fd);
    stopped.most_ns -= role_hear(role.fd); /* since when it may have been stopped */
    assert_int_equal(role_wait(&role), 0);
    json_t *hangs = spool_wait(&spool, NULL, 2);
    assert_between(report_ns(json_array_get(hangs, 0), "duration_ns"),
                   (struct between){took - stopped.most_ns, took - stopped.least_ns});
    assert_between(report_ns(json_array_get(hangs, 0), "excluded_ns"), stopped);
    json_decref(hangs);
}

#define STOPS 10

static int (*true_set_thread_name)(const char *);
static int (*true_futex_wait)(uint32_t *, uint32_t, uint64_t, bool);
static _Thread_local bool is_monitor;
static _Atomic uint64_t sleeps_until_ns; /* the monitor; 0: it is awake */
static unsigned stops;

static int note_monitor(const char *name) {
    is_monitor = strcmp(name, "hangdog") == 0;
    return true_set_thread_name(name);
}

static int note_sleep(uint32_t *word, uint32_t expected, uint64_t until_ns, bool shared) {
    if (!is_monitor) {
        return true_futex_wait(word, expected, until_ns, shared);
    }
    atomic_store(&sleeps_until_ns, until_ns);
    int rc = true_futex_wait(word, expected, until_ns, shared);
    atomic_store(&sleeps_until_ns, 0);
    return rc;
}

/* A turn of some milliseconds, in which everything stops: if the monitor sleeps until some time, by which it
 * sees how late it is. Where it lacked a processor it may be parked, or about to find that it was woken. */
static void stop_in_the_turn(uint64_t ms) {
    nap_ms(1);
    uint64_t until_ns = atomic_load(&sleeps_until_ns);
    if (until_ns != 0 && until_ns != UINT64_MAX) {
        stops++;
        raise(SIGSTOP);
    }
    nap_ms(ms);
}

static void nothing(uint64_t ms) {
    (void)ms;
}

/* Two short turns wake the monitor, which then stays awake for an interval without asking anybody. */
static int stop_in_turns_role(void) {
    true_set_thread_name = hd_os.set_thread_name;
    true_futex_wait = hd_os.futex_wait;
    hd_os.set_thread_name = note_monitor;
    hd_os.futex_wait = note_sleep;
    start_with_loop();
    for (unsigned i = 0; stops < STOPS; i++) {
        nap_ms(5 * INTERVAL_MS);
        looper_call(&looper, nothing, 0);
        nap_ms(1);
        looper_call(&looper, nothing, 0);
        nap_ms(1 + i % 3);
        looper_call(&looper, stop_in_the_turn, INTERVAL_MS);
    }
    looper_stop(&looper);
    return -hangdog_stop();
}

static void a_stop_in_a_turn_not_yet_followed_is_no_hang(void **state) {
    (void)state;
    struct role role;
    role_start(&role, "stop-in-turns", &spool);
    for (unsigned i = 0; i < STOPS; i++) {
        role_stopped_for(&role, 2 * T, 0);
    }
    assert_int_equal(role_wait(&role), 0);
    spool_expect(&spool, 0);
}

/* ---- a clean exit --------------------------------------------------------------------------------- */

static int leave_role(void) {
    start_with_turns();
    looper_post(&looper, block_sleep, 60000);
    spool_wait_for_one(&spool);
    exit(7); /* with destructors; the loop's thread sleeps on */
}

/* Scenario 23. */
static void a_clean_exit_in_a_hang_is_not_fatal(void **state) {
    (void)state;
    struct role role;
    role_start(&role, "leave", &spool);
    assert_int_equal(role_wait(&role), 7);
    json_t *hangs = spool_wait(&spool, "hang", 1);
    assert_true(report_ns(json_array_get(hangs, 0), "duration_ns") >= T * MS);
    assert_string_equal(report_cause(json_array_get(hangs, 0)), "sleep");
    json_decref(hangs);
    json_decref(spool_wait(&spool, "session", 1));
}

/* ---- a forked child ------------------------------------------------------------------------------- */

/* On the loop's thread: the child has its marks and its handle, and nobody watches. */
static void in_a_child(uint64_t ms) {
    pid_t child = fork();
    if (child == 0) {
        hangdog_after_wait(looper.loop);
        nap_ms(ms);
        hangdog_before_wait(looper.loop);
        hangdog_turn(looper.loop);
        hangdog_pause();
        hangdog_resume();
        bool silent = hangdog_loop_watch("child", 0) == NULL && hangdog_stop() == 0;
        _exit(silent ? 5 : 6);
    }
    hangdog_before_wait(looper.loop); /* the parent waits for it, and is idle */
    int status = 0;
    waitpid(child, &status, 0);
    hangdog_after_wait(looper.loop);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 5) {
        abort();
    }
}

static void a_forked_child_is_silent(void **state) {
    (void)state;
    start_with_loop();
    looper_call(&looper, in_a_child, 4 * T);
    expect_reports(0);
}

static void a_forked_child_may_start_anew(void **state) {
    (void)state;
#if defined(__SANITIZE_THREAD__)
    skip(); /* the thread sanitizer has no threads after a fork of several */
#endif
    start_with_loop();
    struct spool other;
    spool_make(&other);
    pid_t child = fork();
    if (child == 0) {
        hangdog_options o = library_options(&other);
        bool well = hangdog_start(&o) == 0 && hangdog_start(&o) == -EALREADY;
        hangdog_loop *loop = hangdog_loop_watch("child", 0);
        hangdog_before_wait(loop);
        nap_ms(T);
        hangdog_after_wait(loop);
        block_sleep(2 * T);
        hangdog_before_wait(loop);
        hangdog_loop_unwatch(loop);
        _exit(well && loop != NULL && hangdog_stop() == 0 ? 5 : 6);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 5);
    json_decref(spool_wait(&other, "hang", 1));
    spool_remove(&other);
    expect_reports(0);
}

/* ---- an exit on a slow disk ------------------------------------------------------------------- */

static atomic_bool is_slow, waits_for_it;

static int slow_fsync(int fd) {
    (void)fd;
    if (atomic_load(&is_slow)) {
        atomic_store(&waits_for_it, true);
        nap_ms(1000);
    }
    return 0;
}

static bool worker_waits(void *unused) {
    (void)unused;
    return atomic_load(&waits_for_it);
}

static void hang_until_the_disk_is_slow(uint64_t ms) {
    block_sleep(ms);
    atomic_store(&is_slow, true);
}

static int exit_role(void) {
    hd_os.fsync = slow_fsync;
    library_start(&spool);
    looper_start(&looper, "main", 0);
    looper_call(&looper, hang_until_the_disk_is_slow, 3 * THRESHOLD_MS);
    exit(wait_for(worker_waits, NULL) ? 0 : 1);
}

/* The report of a hang that has ended may come too late; that its program died in it would be wrong. */
static void an_exit_after_a_hang_is_not_fatal_however_slow_the_disk_is(void **state) {
    (void)state;
    struct role role;
    role_start(&role, "exit", &spool);
    assert_int_equal(role_wait(&role), 0);
    assert_int_equal(spool_count(&spool), 1);
    DIR *dir = opendir(spool.path);
    assert_non_null(dir);
    for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
        assert_null(strstr(e->d_name, ".open"));
    }
    closedir(dir);
}

int main(int argc, char **argv) {
    library_quick_disk();
    if (argc == 3) {
        spool_open(&spool, argv[2]);
        if (strcmp(argv[1], "exit") == 0) {
            return exit_role();
        }
        role_ends_with_session(&spool);
        return strcmp(argv[1], "idle") == 0            ? idle_role()
               : strcmp(argv[1], "stopped-first") == 0 ? stopped_first_role()
               : strcmp(argv[1], "sleep") == 0         ? hang_role(block_sleep)
               : strcmp(argv[1], "spin") == 0          ? hang_role(block_spin)
               : strcmp(argv[1], "changing") == 0      ? changing_role()
               : strcmp(argv[1], "stop-itself") == 0   ? stop_itself_role()
               : strcmp(argv[1], "stop-in-turns") == 0 ? stop_in_turns_role()
                                                       : leave_role();
    }
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin_spool, end_library)
    const struct CMUnitTest side_by_side[] = {
        CASE(stopped_while_idle_it_does_not_hang),
        CASE(stopped_before_its_loop_is_watched_it_does_not_hang),
        CASE(a_stop_is_taken_off_a_sleeping_hang),
        CASE(a_stop_is_taken_off_a_running_hang),
        CASE(writes_a_report_no_more_often_after_a_stop),
        CASE(a_stop_in_a_turn_not_yet_followed_is_no_hang),
        CASE(a_clean_exit_in_a_hang_is_not_fatal),
        CASE(an_exit_after_a_hang_is_not_fatal_however_slow_the_disk_is),
    };
    const struct CMUnitTest tests[] = {
        CASE(a_stop_in_the_middle_of_a_look_is_taken_off),
        CASE(a_forked_child_is_silent),
        CASE(a_forked_child_may_start_anew),
    };
    int failed = run_side_by_side(side_by_side, sizeof side_by_side / sizeof side_by_side[0]);
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
