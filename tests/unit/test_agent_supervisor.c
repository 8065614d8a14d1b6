/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define print_error cmocka_print_error /* cli/base/error.h has another one */
#include <cmocka.h>
#undef print_error

#include "agent/supervisor.h"
#include "os/linux/proc_stat.h"
#include "os/os.h"

#define LEFT 7
#define SOMEONE 1234u
#define NUMBER 5000001 /* of no process: it is over the most */

static struct supervision *shared;

static uint64_t started_ns(pid_t pid) {
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    return hd_proc_stat_read(AT_FDCWD, path).started_boot_ns;
}

static bool leaves(pid_t pid) {
    return supervision_leaves(shared, pid, started_ns(pid), 0, hd_os_now_ns());
}

static int set_up(void **state) {
    (void)state;
    hd_os_clock_init();
    shared = supervision_create();
    assert_non_null(shared);
    return 0;
}

static _Noreturn void crash_for(pid_t pid, uid_t user) {
    const struct rlimit none = {0};
    working_for(&shared->now, pid, user);
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)signal(SIGABRT, SIG_DFL);
    abort();
}

/* The watch of a process crashes; the next one leaves that process out, and no other. */
static int crash(void *watched) {
    pid_t pid = *(pid_t *)watched;
    if (leaves(pid)) {
        return !leaves(getppid()) && !supervision_leaves(shared, pid, 1, 0, hd_os_now_ns()) ? LEFT
                                                                                            : EXIT_FAILURE;
    }
    crash_for(pid, 0);
}

static int crash_for_none(void *unused) {
    pid_t none = 0;
    (void)unused;
    return crash(&none);
}

static int end(void *status) {
    return *(int *)status;
}

static void a_process_whose_watch_crashes_is_left_out(void **state) {
    pid_t watched = fork();
    (void)state;
    if (watched == 0) {
        pause();
    }
    int status = supervise(shared, crash, &watched);
    kill(watched, SIGKILL);
    assert_int_equal(LEFT, status);
}

static void the_status_is_passed_on(void **state) {
    int status = 3;
    (void)state;
    assert_int_equal(3, supervise(shared, end, &status));
    assert_int_equal(128 + SIGABRT, supervise(shared, crash_for_none, NULL));
}

/* ---- many processes ----------------------------------------------------------------------------- */

/* The watch of each process of a user crashes, of those that are not left out. */
static int crash_for_all(void *user) {
    for (pid_t pid = NUMBER; pid < NUMBER + 6; pid++) {
        if (!supervision_leaves(shared, pid, 0, *(uid_t *)user, hd_os_now_ns())) {
            crash_for(pid, *(uid_t *)user);
        }
    }
    return LEFT;
}

static unsigned count_left(void) {
    unsigned count = 0;
    while (count < SUPERVISOR_LEFT && shared->process[count].pid != 0) {
        count++;
    }
    return count;
}

static void all_of_a_user_are_left_out_after_three(void **state) {
    uid_t someone = SOMEONE, root = 0;
    (void)state;
    assert_int_equal(LEFT, supervise(shared, crash_for_all, &someone));
    assert_int_equal(SUPERVISOR_OF_USER, count_left());
    assert_false(supervision_leaves(shared, 1, 0, SOMEONE + 1, hd_os_now_ns()));
    assert_int_equal(LEFT, supervise(shared, crash_for_all, &root));
    assert_int_equal(6, count_left());
    assert_false(supervision_leaves(shared, 1, 0, root, hd_os_now_ns()));
}

/* An hour later the user is watched again, but for one whose second process stays. */
static void one_that_stays_is_left_out_for_longer(void **state) {
    uint64_t later_ns = hd_os_now_ns() + 3601 * HD_NS_PER_S;
    uid_t someone = SOMEONE;
    (void)state;
    assert_int_equal(LEFT, supervise(shared, crash_for_all, &someone));
    assert_false(supervision_leaves(shared, NUMBER, 0, SOMEONE, later_ns));
    atomic_store(&shared->process[0].stays, 1000000);
    assert_true(supervision_leaves(shared, NUMBER, 0, SOMEONE, later_ns));
    assert_false(supervision_leaves(shared, NUMBER + 1, 0, SOMEONE, later_ns));
}

/* By many users, as one user may have: the list is full. */
static int crash_for_service(void *unused) {
    (void)unused;
    if (!supervision_leaves(shared, NUMBER, 0, 33, hd_os_now_ns())) {
        crash_for(NUMBER, 33);
    }
    return LEFT;
}

static void a_full_list_leaves_out_all_people(void **state) {
    (void)state;
    for (unsigned i = 0; i < SUPERVISOR_LEFT; i++) {
        shared->process[i].pid = NUMBER + 100 + (pid_t)i;
        shared->process[i].user = 100000 + i;
        shared->process[i].until_ns = UINT64_MAX;
    }
    assert_false(supervision_leaves(shared, 1, 0, SOMEONE, hd_os_now_ns()));
    assert_int_equal(LEFT, supervise(shared, crash_for_service, NULL));
    assert_true(supervision_leaves(shared, 1, 0, SOMEONE, hd_os_now_ns()));
    assert_false(supervision_leaves(shared, 1, 0, 33, hd_os_now_ns()));
    assert_false(supervision_leaves(shared, 1, 0, 0, hd_os_now_ns()));
}

/* ---- signals ------------------------------------------------------------------------------------ */

struct kills {
    _Atomic unsigned starts;
    uint64_t at_ns[3];
};

static int be_killed(void *arg) {
    struct kills *k = arg;
    unsigned start = atomic_fetch_add(&k->starts, 1);
    k->at_ns[start] = hd_os_now_ns();
    if (start < 2) {
        working_for(&shared->now, NUMBER, SOMEONE);
        (void)raise(SIGKILL);
    }
    return LEFT;
}

static void one_that_is_killed_starts_later_and_later(void **state) {
    struct kills *k = mmap(NULL, sizeof *k, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    (void)state;
    assert_true(k != MAP_FAILED);
    shared->pause_ns = HD_NS_PER_S / 2;
    assert_int_equal(LEFT, supervise(shared, be_killed, k));
    assert_int_equal(0, count_left());
    assert_true(k->at_ns[1] - k->at_ns[0] >= HD_NS_PER_S / 2);
    assert_true(k->at_ns[2] - k->at_ns[1] >= HD_NS_PER_S);
    munmap(k, sizeof *k);
}

static volatile sig_atomic_t got;

static void on_hangup(int number) {
    got = number;
}

/* The signal comes before the handler is there. */
static int take_a_hangup(void *unused) {
    sigset_t pending;
    (void)unused;
    (void)kill(getppid(), SIGHUP);
    do {
        hd_os_nap(HD_NS_PER_MS);
        sigpending(&pending);
    } while (sigismember(&pending, SIGHUP) == 0);
    (void)signal(SIGHUP, on_hangup);
    supervision_take_signals(shared);
    return got == SIGHUP ? LEFT : EXIT_FAILURE;
}

static void a_signal_waits_for_its_handler(void **state) {
    sigset_t none;
    (void)state;
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    assert_int_equal(LEFT, supervise(shared, take_a_hangup, NULL));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_process_whose_watch_crashes_is_left_out, set_up),
        cmocka_unit_test_setup(the_status_is_passed_on, set_up),
        cmocka_unit_test_setup(all_of_a_user_are_left_out_after_three, set_up),
        cmocka_unit_test_setup(one_that_stays_is_left_out_for_longer, set_up),
        cmocka_unit_test_setup(a_full_list_leaves_out_all_people, set_up),
        cmocka_unit_test_setup(one_that_is_killed_starts_later_and_later, set_up),
        cmocka_unit_test_setup(a_signal_waits_for_its_handler, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
