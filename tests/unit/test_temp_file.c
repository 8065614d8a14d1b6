/* SPDX-License-Identifier: MIT
 *
 * Files that are about to get their name, while others open the spool and sweep it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/temp_file.h"
#include "os/os.h"
#include "report/spool.h"

#define ROUNDS 3000
#define ID "01a1fb85-d8ab-7721-afb4-1d9d%08x"

static char folder[64], temp[160], name[160];

/* Each report is settled once. */
static void be_report(unsigned number) {
    snprintf(temp, sizeof temp, "%s/." ID ".tmp", folder, number);
    snprintf(name, sizeof name, "%s/" ID ".json", folder, number);
}

static int fresh(void **state) {
    (void)state;
    strcpy(folder, "/tmp/hangdog-temp-XXXXXX");
    assert_non_null(mkdtemp(folder));
    be_report(0);
    return 0;
}

static int clean(void **state) {
    (void)state;
    unlink(temp);
    unlink(name);
    return rmdir(folder);
}

/* Opens the spool again and again, as every start does, until it is killed. */
static pid_t start_sweeper(void) {
    pid_t pid = fork();
    assert_true(pid >= 0);
    while (pid == 0) {
        struct hd_spool spool;
        if (hd_spool_open(&spool, folder) != 0) {
            _exit(1);
        }
        hd_spool_close(&spool);
    }
    return pid;
}

static void no_sweeper_takes_it_before_it_has_its_name(void **state) {
    (void)state;
    int status, lost = 0;
    pid_t sweeper = start_sweeper();
    for (unsigned i = 0; i < ROUNDS; i++) {
        be_report(i);
        int fd = temp_file_open(temp);
        if (fd < 0 || write(fd, "text", 4) != 4 || rename(temp, name) != 0) {
            lost++;
        }
        close(fd);
        unlink(name);
    }
    assert_int_equal(kill(sweeper, SIGKILL), 0);
    assert_int_equal(waitpid(sweeper, &status, 0), sweeper);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(lost, 0);
}

static void what_a_dead_writer_left_is_taken_over_empty(void **state) {
    (void)state;
    struct stat st;
    for (int i = 0; i < 2; i++) {
        int fd = temp_file_open(temp);
        assert_true(fd >= 0);
        assert_int_equal(fstat(fd, &st), 0);
        assert_int_equal(st.st_size, 0);
        assert_int_equal(write(fd, "text", 4), 4);
        close(fd);
    }
    assert_int_equal(unlink(temp), 0);
    assert_int_equal(symlink("elsewhere", temp), 0);
    assert_int_equal(temp_file_open(temp), -ELOOP);
}

/* Who may write to the folder puts it there, before a runner with more rights comes. */
static void a_link_to_another_file_is_removed(void **state) {
    (void)state;
    struct stat st;
    int other = open(name, O_RDWR | O_CREAT, 0400);
    assert_int_equal(write(other, "text", 4), 4);
    assert_int_equal(link(name, temp), 0);
    int fd = temp_file_open(temp);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "report", 6), 6);
    close(fd);
    assert_int_equal(fstat(other, &st), 0);
    assert_int_equal(st.st_size, 4);
    assert_int_equal(st.st_mode & 0777, 0400);
    close(other);
}

static void a_writer_who_does_not_end_is_not_waited_for(void **state) {
    (void)state;
    int other = open(temp, O_RDWR | O_CREAT, 0600);
    assert_int_equal(flock(other, LOCK_EX), 0);
    assert_int_equal(temp_file_open(temp), -EBUSY);
    close(other);
}

/* One that masks its owner's bits: who is not root could not open it again by its name. */
static void it_is_its_owners_whatever_umask_says(void **state) {
    (void)state;
    struct stat st;
    mode_t before = umask(0777);
    int fd = temp_file_open(temp);
    umask(before);
    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    close(fd);
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, fresh, clean)
    const struct CMUnitTest tests[] = {
        CASE(no_sweeper_takes_it_before_it_has_its_name),  CASE(it_is_its_owners_whatever_umask_says),
        CASE(a_link_to_another_file_is_removed),           CASE(a_writer_who_does_not_end_is_not_waited_for),
        CASE(what_a_dead_writer_left_is_taken_over_empty),
    };
    hd_os_clock_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
