/* SPDX-License-Identifier: MIT
 *
 * What one user's programs may have of the watcher: places for threads, and time for new waits. The hook is
 * the test's own, and the threads are those of this process.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#define print_error cmocka_print_error /* cli/base/error.h has another one */
#include <cmocka.h>
#undef print_error

#include "cli/outside/loops.h"
#include "cli/outside/recognise_stacks.h"
#include "cli/outside/threads.h"
#include "os/os.h"

#define PLACES 300u
#define PROCESSES 12u
#define UNTIL_NS (60 * HD_NS_PER_S)
#define MUCH_NS (3600 * HD_NS_PER_S)

static struct hd_hook {
    uint32_t taken;
    int rc; /* of `watch` */
} hook;

static int watch(struct hd_hook *h, pid_t pid, pid_t tid) {
    (void)pid, (void)tid;
    h->taken += h->rc == 0;
    return h->rc;
}

static void unwatch(struct hd_hook *h, pid_t tid) {
    (void)tid;
    h->taken--;
}

static uint32_t free_places(const struct hd_hook *h) {
    return PLACES - h->taken;
}

static void judge(struct hd_hook *h, pid_t tid, uint32_t kind, enum hd_wait_verdict verdict) {
    (void)h, (void)tid, (void)kind, (void)verdict;
}

static void times(struct hd_hook *h, pid_t tid, uint32_t kind, struct hd_wait_times *out) {
    (void)h, (void)tid, (void)kind;
    *out = (struct hd_wait_times){.waits = 0};
}

static void read_state(struct hd_hook *h, pid_t tid, struct hd_hook_thread *out) {
    (void)h, (void)tid;
    *out = (struct hd_hook_thread){.known = true};
}

static const struct hd_hook_way way = {.name = "test",
                                       .watch = watch,
                                       .unwatch = unwatch,
                                       .judge = judge,
                                       .read = read_state,
                                       .times = times,
                                       .free_places = free_places};
static struct watcher watcher;
static struct outside_process process[PROCESSES];
static unsigned notes;

static void note(void *arg, const struct watched_process *p, const char *text) {
    (void)arg, (void)p, (void)text;
    notes++;
}

static int set_up(void **state) {
    (void)state;
    hd_os_clock_init();
    hook = (struct hd_hook){0};
    notes = 0;
    watcher = (struct watcher){.way = &way, .hook = &hook, .options.events.note = note};
    for (unsigned i = 0; i < PROCESSES; i++) {
        process[i] = (struct outside_process){.watcher = &watcher, .next = watcher.processes};
        watcher.processes = &process[i];
    }
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    for (unsigned i = 0; i < PROCESSES; i++) {
        while (process[i].threads != NULL) {
            outside_thread_remove(process[i].threads);
        }
    }
    for (const struct outside_user *u = watcher.users; u != NULL; u = u->next) {
        assert_int_equal(u->threads, 0); /* the counts are those of the threads */
    }
    outside_users_free(&watcher.users);
    return 0;
}

/* Adds threads until there is no room. */
static unsigned fill(struct outside_process *p) {
    int tid = 1000 * (int)(p - process + 1), rc = 0;
    while (rc == 0) {
        rc = outside_thread_add(p, tid++);
    }
    assert_int_equal(rc, -ENOSPC);
    return p->thread_count;
}

static void one_user_has_at_most_half(void **state) {
    unsigned sum = 0;
    (void)state;
    for (unsigned i = 0; i + 1 < PROCESSES; i++) {
        process[i].shown.uid = 1000;
        sum += fill(&process[i]);
    }
    assert_in_range(sum, PLACES / 2 - 10, PLACES / 2);
    assert_in_range(fill(&process[PROCESSES - 1]), PLACES / 6, PLACES / 2); /* root's */
}

static void one_process_leaves_some_to_its_users_others(void **state) {
    (void)state;
    assert_in_range(fill(&process[0]), PLACES / 3, PLACES / 2);
    assert_in_range(fill(&process[1]), 5, PLACES / 2);
}

static void list(struct outside_process *p, int rc) {
    hook.rc = rc;
    p->live.proc_fd = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(p->live.proc_fd >= 0);
    outside_threads_list(p);
    close(p->live.proc_fd);
}

/* qemu-user has a thread of its own in each process. */
static unsigned count_own_threads(void) {
    DIR *tasks = opendir("/proc/self/task");
    unsigned count = 0;
    assert_non_null(tasks);
    for (const struct dirent *e; (e = readdir(tasks)) != NULL;) {
        count += e->d_name[0] != '.';
    }
    closedir(tasks);
    return count;
}

static void only_missing_room_is_said_and_once(void **state) {
    struct outside_process *p = &process[0];
    const unsigned own = count_own_threads();
    (void)state;
    list(p, -ESRCH);
    list(p, -EAGAIN);
    assert_int_equal(p->shown.unwatched, 0);
    assert_int_equal(notes, 0);
    for (unsigned i = 0; i < 2; i++) {
        list(p, -ENOSPC);
        assert_int_equal(p->shown.unwatched, own);
        list(p, 0);
        assert_int_equal(p->shown.unwatched, 0);
        assert_int_equal(p->thread_count, own);
        while (p->threads != NULL) {
            outside_thread_remove(p->threads);
        }
    }
    assert_int_equal(notes, 1);
}

/* ---- time for new waits ------------------------------------------------------------------------- */

static struct hd_record record;

static void open_own(struct outside_process *p, uid_t uid) {
    static const struct live_command command = {"attach", "attach"};
    struct problem why;
    assert_int_equal(live_process_open(getpid(), &command, &p->live, &why), 0);
    p->shown.record = &record;
    p->shown.uid = uid;
    assert_int_equal(outside_thread_add(p, (pid_t)(getpid() + (p - process))), 0);
}

/* A wait of a new kind, with a stack. True: the watcher has worked on it now. */
static bool wait_anew(struct outside_process *p) {
    static uint64_t count;
    count++;
    const uint8_t stack[512] = {1};
    const struct hd_hook_sight sight = {.nr = SYS_epoll_pwait,
                                        .blocks = true,
                                        .args = {count},
                                        .regs = {.pc = (uint64_t)(uintptr_t)&wait_anew, .sp = 4096 * count},
                                        .stack = stack,
                                        .stack_addr = 4096 * count,
                                        .stack_bytes = sizeof stack};
    (void)outside_share_is_left(&p->share, hd_os_now_ns(), OUTSIDE_USER_PARTS, 0); /* more than is due */
    uint64_t before_ns = p->share.spent_ns;
    loops_sight(p->threads, &sight);
    return p->share.spent_ns > before_ns;
}

static void open_all(void) {
    watcher.stacks = outside_stacks_create();
    open_own(&process[0], 1000);
    open_own(&process[1], 1000);
    open_own(&process[2], 1001);
}

static void close_all(void) {
    for (unsigned i = 0; i < 3; i++) {
        outside_thread_remove(process[i].threads);
        live_process_close(&process[i].live);
    }
    outside_stacks_destroy(watcher.stacks);
}

static void new_waits_without_end_leave_time_to_others(void **state) {
    struct outside_process *hostile = &process[0], *same_user = &process[1], *other = &process[2];
    (void)state;
    open_all();
    for (unsigned i = 0; i < 3; i++) {
        assert_true(wait_anew(&process[i]));
    }
    assert_true(wait_anew(hostile));
    hostile->share.spent_ns += MUCH_NS;
    assert_false(wait_anew(hostile));
    assert_true(wait_anew(same_user));
    outside_user_find(watcher.users, 1000)->share.spent_ns += MUCH_NS;
    assert_false(wait_anew(same_user));
    assert_true(wait_anew(other));
    close_all();
}

/* The share is spent, so the watcher has not read the last wait. */
static void leave_a_wait_unread(struct outside_process *p) {
    (void)wait_anew(p);
    p->share.spent_ns += MUCH_NS;
    (void)wait_anew(p);
}

/* Without the look the new wait would be a hang. */
static void the_share_does_not_stop_the_look_at_a_long_turn(void **state) {
    struct outside_process *p = &process[0];
    (void)state;
    open_all();
    leave_a_wait_unread(p);
    assert_false(loops_look(p->threads, hd_os_now_ns()));
    p->threads->followed = (void *)&hook;
    assert_true(loops_look(p->threads, hd_os_now_ns()));
    p->threads->followed = NULL;
    close_all();
}

static uint64_t owed(uid_t uid) {
    const struct outside_user *u = outside_user_find(watcher.users, uid);
    return u != NULL ? u->share.spent_ns : 0;
}

static void wait_without_end(struct outside_process *p) {
    uint64_t until_ns = hd_os_now_ns() + UNTIL_NS;
    while (p->share.spent_ns < OUTSIDE_USER_NS / 2) {
        (void)wait_anew(p);
        assert_true(hd_os_now_ns() < until_ns);
    }
}

/* Its programs end, and others begin. The debt is all of the watcher's own counting. */
static void a_user_owes_the_time_of_programs_that_have_ended(void **state) {
    struct outside_process *first = &process[0], *second = &process[1];
    (void)state;
    open_all();
    wait_without_end(first);
    wait_without_end(second);
    const uint64_t before_ns = owed(1000);
    assert_true(before_ns >= OUTSIDE_USER_NS / 4);
    outside_thread_remove(first->threads);
    outside_thread_remove(second->threads);
    assert_true(owed(1000) >= before_ns / 2);
    assert_int_equal(outside_thread_add(first, getpid()), 0);
    assert_true(wait_anew(first)); /* a first wait is read, and counts */
    outside_thread_remove(first->threads);
    outside_user_leave(&watcher.users, 1000, hd_os_now_ns() + MUCH_NS);
    assert_null(outside_user_find(watcher.users, 1000));
    assert_int_equal(outside_thread_add(first, getpid()), 0);
    assert_int_equal(outside_thread_add(second, getpid() + 1), 0);
    close_all();
}

static void looks_at_sums_count(void **state) {
    struct outside_process *p = &process[0];
    (void)state;
    open_all();
    leave_a_wait_unread(p);
    p->share = (struct outside_share){.updated_ns = hd_os_now_ns()};
    assert_true(loops_look(p->threads, hd_os_now_ns()));
    assert_true(p->share.spent_ns > 0);
    close_all();
}

static void a_share_is_paid_back(void **state) {
    struct outside_share share = {.spent_ns = 1000, .updated_ns = 1};
    (void)state;
    assert_false(outside_share_is_left(&share, 1, 20, 1000));
    assert_true(outside_share_is_left(&share, 21, 20, 1000));
    assert_int_equal(share.spent_ns, 999);
    assert_true(outside_share_is_left(&share, 1000000, 20, 1));
    assert_int_equal(share.spent_ns, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_user_has_at_most_half, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_process_leaves_some_to_its_users_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_missing_room_is_said_and_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(new_waits_without_end_leave_time_to_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_share_does_not_stop_the_look_at_a_long_turn, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_user_owes_the_time_of_programs_that_have_ended, set_up, tear_down),
        cmocka_unit_test_setup_teardown(looks_at_sums_count, set_up, tear_down),
        cmocka_unit_test(a_share_is_paid_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
