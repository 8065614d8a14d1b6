/* SPDX-License-Identifier: MIT
 *
 * The places of threads: what one user's programs may have of them. The hook is the test's own, and the
 * threads are those of this process.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#define print_error cmocka_print_error /* cli/base/error.h has another one */
#include <cmocka.h>
#undef print_error

#include "cli/outside/threads.h"
#include "os/os.h"

#define PLACES 300u
#define PROCESSES 12u

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

static const struct hd_hook_way way = {
    .name = "test", .watch = watch, .unwatch = unwatch, .free_places = free_places};
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_user_has_at_most_half, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_process_leaves_some_to_its_users_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_missing_room_is_said_and_once, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
