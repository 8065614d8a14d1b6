/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/text.h"
#include "os/linux/proc_files.h"
#include "os/os.h"
#include "os/thread_list.h"

#define THREADS 120 /* more than one call of getdents tells */

static int proc_fd;
static int tids[THREADS];
static pthread_barrier_t here, done;

static void *wait_for_the_end(void *arg) {
    *(int *)arg = (int)hd_os.get_tid();
    hd_os.set_thread_name("fifteen letters");
    pthread_barrier_wait(&here);
    pthread_barrier_wait(&done);
    return NULL;
}

static int times_listed(int tid) {
    struct hd_thread_list t;
    int times = 0;
    hd_thread_list_start(&t, proc_fd);
    for (int one; (one = (int)hd_thread_list_next(&t).number) != 0;) {
        times += one == tid;
    }
    assert_int_equal(hd_thread_list_next(&t).number, 0); /* also when asked again */
    return times;
}

static void every_thread_is_listed_once_and_has_its_files(void **state) {
    (void)state;
    pthread_t thread[THREADS];
    char text[32], path[48];
    pthread_barrier_init(&here, NULL, THREADS + 1);
    pthread_barrier_init(&done, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&thread[i], NULL, wait_for_the_end, &tids[i]), 0);
    }
    pthread_barrier_wait(&here);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(times_listed(tids[i]), 1);
    }
    assert_int_equal(times_listed((int)hd_os.get_tid()), 1);
    assert_int_equal(hd_proc_read_task(proc_fd, tids[0], "comm", text, sizeof text), 16);
    assert_string_equal(text, "fifteen letters\n");
    assert_int_equal(hd_proc_read_task(proc_fd, tids[0], "comm", text, 8), 7);
    assert_string_equal(text, "fifteen");
    hd_proc_task_fd_path(path, sizeof path, 17, "fdinfo", 4);
    assert_string_equal(path, "task/17/fdinfo/4");
    pthread_barrier_wait(&done);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
    }
}

static void a_line_is_found_by_what_it_begins_with(void **state) {
    (void)state;
    static const char text[] = "NSpid:\t1\nPid:\t27\nPid:\t28\n";
    assert_string_equal(hd_proc_find_line(text, "Pid:"), "\t27\nPid:\t28\n");
    assert_string_equal(hd_proc_find_line(text, "NSpid:\t"), "1\nPid:\t27\nPid:\t28\n");
    assert_null(hd_proc_find_line(text, "pid:"));
    assert_null(hd_proc_find_line("", "Pid:"));
}

static void what_has_gone_reads_as_empty(void **state) {
    (void)state;
    char text[32] = "as before";
    struct hd_thread_list t;
    assert_true(hd_proc_read_task(proc_fd, 1 << 30, "comm", text, sizeof text) < 0);
    assert_string_equal(text, "");
    hd_thread_list_start(&t, -1);
    assert_int_equal(hd_thread_list_next(&t).number, 0);
}

static void a_walk_may_end_early_and_leaves_no_descriptor(void **state) {
    (void)state;
    struct hd_thread_list t;
    int before = dup(0);
    close(before);
    hd_thread_list_start(&t, proc_fd);
    assert_true(hd_thread_list_next(&t).number > 0);
    hd_thread_list_end(&t);
    assert_int_equal(hd_thread_list_next(&t).number, 0);
    int after = dup(0);
    close(after);
    assert_int_equal(after, before);
}

/* ---- an epoll instance ---- */

#define MANY 300 /* more than HD_FEW_OPEN */

static struct hd_os_calls real;
static int epoll, filled[MANY];

static void fill(void) {
    for (int i = 0; i < MANY; i++) {
        filled[i] = eventfd(0, EFD_CLOEXEC);
        assert_true(filled[i] >= 0);
        epoll_ctl(epoll, EPOLL_CTL_ADD, filled[i], &(struct epoll_event){.events = EPOLLIN});
    }
}

/* The program fills its instance while our thread has no CPU, just before it opens the file. */
static int fill_and_open(int dir, const char *path, int flags, int mode) {
    if (strstr(path, "fdinfo") != NULL) {
        fill();
    }
    return real.open_at(dir, path, flags, mode);
}

static void an_instance_that_is_filled_before_it_is_opened_is_not_read(void **state) {
    (void)state;
    char text[2048];
    real = hd_os;
    epoll = epoll_create1(EPOLL_CLOEXEC);
    int one = eventfd(0, EFD_CLOEXEC);
    epoll_ctl(epoll, EPOLL_CTL_ADD, one, &(struct epoll_event){.events = EPOLLIN});
    assert_true(hd_proc_read_epoll(proc_fd, (int)hd_os.get_tid(), epoll, text, sizeof text) > 0);
    assert_non_null(hd_proc_find_line(text, "tfd:"));
    hd_os.open_at = fill_and_open;
    assert_true(hd_proc_read_epoll(proc_fd, (int)hd_os.get_tid(), epoll, text, sizeof text) < 0);
    assert_string_equal(text, "");
    hd_os = real;
    for (int i = 0; i < MANY; i++) {
        close(filled[i]);
    }
    assert_true(hd_proc_read_epoll(proc_fd, (int)hd_os.get_tid(), epoll, text, sizeof text) > 0);
    close(epoll);
    assert_true(hd_proc_read_epoll(proc_fd, (int)hd_os.get_tid(), epoll, text, sizeof text) < 0);
    close(one);
}

static void a_number_ends_where_its_digits_do(void **state) {
    (void)state;
    uint64_t v;
    assert_string_equal(hd_text_take_number(" \t  4711 kB", &v), " kB");
    assert_int_equal(v, 4711);
    assert_string_equal(hd_text_take_number("-1 2", &v), "-1 2");
    assert_int_equal(v, 0);
    assert_string_equal(hd_text_take_number("", &v), "");
    assert_int_equal(v, 0);
}

static void a_list_has_as_many_as_its_ranges(void **state) {
    (void)state;
    assert_int_equal(hd_proc_count_listed("0\n"), 1);
    assert_int_equal(hd_proc_count_listed("0-7\n"), 8);
    assert_int_equal(hd_proc_count_listed("0,2,4,6,8-15\n"), 12);
    assert_int_equal(hd_proc_count_listed("0-3,8-11,64\n"), 9);
    assert_int_equal(hd_proc_count_listed(""), 0);
    assert_int_equal(hd_proc_count_listed("\n"), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_thread_is_listed_once_and_has_its_files),
        cmocka_unit_test(a_line_is_found_by_what_it_begins_with),
        cmocka_unit_test(what_has_gone_reads_as_empty),
        cmocka_unit_test(a_walk_may_end_early_and_leaves_no_descriptor),
        cmocka_unit_test(an_instance_that_is_filled_before_it_is_opened_is_not_read),
        cmocka_unit_test(a_number_ends_where_its_digits_do),
        cmocka_unit_test(a_list_has_as_many_as_its_ranges),
    };
    proc_fd = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return proc_fd < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
