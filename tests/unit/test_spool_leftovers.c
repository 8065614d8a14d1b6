/* SPDX-License-Identifier: MIT
 *
 * The spool folder: what dead writers left, and what living ones and others have there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/spool.h"
#include "spool_folder.h"

static int make_temp(const uint8_t id[HD_UUID_BYTES]) {
    char path[160];
    path_of(path, id, HD_SPOOL_TEMP);
    return open(path, O_CREAT | O_RDWR, 0600);
}

static void a_dead_writers_leftovers_are_swept_and_a_living_ones_stay(void **state) {
    (void)state;
    struct hd_spool other = {0};
    const uint8_t dead[HD_UUID_BYTES] = {1}, alive[HD_UUID_BYTES] = {2};
    close(make_temp(dead));
    int fd = make_temp(alive);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_int_equal(hd_spool_open(&other, folder), 0);
    assert_false(exists(dead, HD_SPOOL_TEMP));
    assert_true(exists(alive, HD_SPOOL_TEMP));
    close(fd);
    hd_spool_close(&other);
}

static void another_writer_of_the_same_report_is_not_disturbed(void **state) {
    (void)state;
    struct hd_report r = report_of(1, 1);
    int fd = make_temp(r.id);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_int_equal(hd_spool_write(&spool, &r, scratch, false), -EBUSY);
    assert_true(exists(r.id, HD_SPOOL_TEMP));
    close(fd);
    assert_int_equal(hd_spool_write(&spool, &r, scratch, false), 0);
    assert_int_equal(files(NULL), 1);
}

/* Who may write to the folder puts it there, before a runner with more rights comes. */
static void a_link_to_another_file_is_removed(void **state) {
    (void)state;
    char other[160], temp[160];
    struct stat st;
    struct hd_report r = report_of(1, 1);
    snprintf(other, sizeof other, "%s/other", folder);
    path_of(temp, r.id, HD_SPOOL_TEMP);
    int fd = open(other, O_CREAT | O_RDWR, 0400);
    assert_int_equal(write(fd, "text", 4), 4);
    assert_int_equal(link(other, temp), 0);
    assert_int_equal(hd_spool_write(&spool, &r, scratch, false), 0);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_size, 4);
    assert_int_equal(st.st_mode & 0777, 0400);
    assert_int_equal(st.st_nlink, 1);
    close(fd);
    unlink(other);
    assert_int_equal(files(".json"), 1);
}

static void age_file(const uint8_t id[HD_UUID_BYTES], enum hd_spool_file what, time_t seconds) {
    char path[160];
    struct timespec times[2] = {{.tv_sec = time(NULL) - seconds}, {.tv_sec = time(NULL) - seconds}};
    path_of(path, id, what);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* They may be of a program that is dead and not settled yet. */
static void keeps_deferred_reports_when_a_spool_is_opened(void **state) {
    (void)state;
    struct hd_report old = report_of(2, 1);
    hd_spool_write(&spool, &old, scratch, true);
    age_file(old.id, HD_SPOOL_DEFERRED, 365 * 86400);
    hd_spool_sweep(spool.dir_fd);
    assert_true(exists(old.id, HD_SPOOL_DEFERRED));
}

static int no_locks(int fd, int operation) {
    (void)fd, (void)operation;
    return -EOPNOTSUPP;
}

static void knows_leftovers_by_age_without_locks(void **state) {
    (void)state;
    const uint8_t old[HD_UUID_BYTES] = {1}, recent[HD_UUID_BYTES] = {2};
    close(make_temp(old));
    close(make_temp(recent));
    age_file(old, HD_SPOOL_TEMP, 120);
    hd_os.flock = no_locks;
    hd_spool_sweep(spool.dir_fd);
    assert_false(exists(old, HD_SPOOL_TEMP));
    assert_true(exists(recent, HD_SPOOL_TEMP));
    write_one(1);
    assert_int_equal(files(".json"), 1);
}

/* By its name in the folder above, wherever the program is by now; not when that is gone too. */
static void a_folder_that_was_removed_is_made_again(void **state) {
    (void)state;
    char above[128], path[160];
    hd_spool_close(&spool);
    int descriptors = open_descriptors(), here = open(".", O_PATH);
    snprintf(above, sizeof above, "%s/above", folder);
    snprintf(path, sizeof path, "%s/spool", above);
    assert_int_equal(hd_spool_open(&spool, path), 0);
    for (unsigned i = 0; i < 2; i++) {
        write_one(1);
        assert_int_equal(folder_remove(path), 0);
        assert_int_equal(chdir("/usr"), 0);
        write_one(2);
        assert_int_equal(fchdir(here), 0);
        assert_int_equal(access(path, F_OK), 0);
    }
    assert_int_equal(folder_remove(above), 0);
    struct hd_report r = report_of(1, 1);
    assert_int_equal(hd_spool_write(&spool, &r, scratch, false), -ENOENT);
    assert_int_equal(access(above, F_OK), -1);
    assert_int_equal(spool.failed, 1);
    assert_int_equal(spool.error, ENOENT);
    hd_spool_close(&spool);
    assert_int_equal(hd_spool_write(&spool, &r, scratch, false), -EBADF);
    close(here);
    assert_int_equal(open_descriptors(), descriptors);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fresh, clean)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_dead_writers_leftovers_are_swept_and_a_living_ones_stay),
        TEST(another_writer_of_the_same_report_is_not_disturbed),
        TEST(a_link_to_another_file_is_removed),
        TEST(keeps_deferred_reports_when_a_spool_is_opened),
        TEST(knows_leftovers_by_age_without_locks),
        TEST(a_folder_that_was_removed_is_made_again),
    };
    hd_os_clock_init();
    real = hd_os;
    scratch = malloc(hd_report_scratch_bytes());
    int failed = scratch == NULL ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
    free(scratch);
    return failed;
}
