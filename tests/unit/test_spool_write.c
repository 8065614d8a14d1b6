/* SPDX-License-Identifier: MIT
 *
 * The spool folder: reports whole or not at all, whatever fails; leftovers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "folder.h"
#include "os/os.h"
#include "record/uuid.h"
#include "report/spool.h"
#include "report/spool_files.h"

static char folder[64];
static struct hd_spool spool;
static struct hd_report_scratch *scratch;
static struct hd_os_calls real;

/* ---- a call that fails -------------------------------------------------------------------- */

static int fail_at, fail_with; /* the nth call from now on; 0: none */
static int calls;

static bool fails(void) {
    calls++;
    return fail_at != 0 && calls == fail_at;
}

static int open_at(int dir, const char *path, int flags, int mode) {
    return fails() ? fail_with : real.open_at(dir, path, flags, mode);
}
static long write_some(int fd, const void *buf, size_t n) {
    return fails() ? fail_with : real.write(fd, buf, n > 100 ? 100 : n); /* and never all at once */
}
static int fsync_file(int fd) {
    return fails() ? fail_with : real.fsync(fd);
}
static int rename_at(int dir, const char *from, const char *to) {
    return fails() ? fail_with : real.rename_at(dir, from, to);
}
static int unlink_at(int dir, const char *path) {
    return fails() ? fail_with : real.unlink_at(dir, path);
}
static int mkdir_at(int dir, const char *path, int mode) {
    return fails() ? fail_with : real.mkdir_at(dir, path, mode);
}
static int truncate_file(int fd, uint64_t size) {
    return fails() ? fail_with : real.ftruncate(fd, size);
}
static int lock_file(int fd, int operation) {
    return fails() ? fail_with : real.flock(fd, operation);
}
static long list(int fd, void *buf, size_t n) {
    return fails() ? fail_with : real.getdents(fd, buf, n);
}
static int stat_file(int dir, const char *path, void *st, int flags) {
    return fails() ? fail_with : real.stat_at(dir, path, st, flags);
}

static void let_calls_fail(void) {
    hd_os.open_at = open_at;
    hd_os.write = write_some;
    hd_os.fsync = fsync_file;
    hd_os.rename_at = rename_at;
    hd_os.unlink_at = unlink_at;
    hd_os.mkdir_at = mkdir_at;
    hd_os.ftruncate = truncate_file;
    hd_os.flock = lock_file;
    hd_os.getdents = list;
    hd_os.stat_at = stat_file;
}

/* ---- the folder, seen from outside -------------------------------------------------------- */

static int open_descriptors(void) {
    int n = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (readdir(dir) != NULL)
        n++;
    closedir(dir);
    return n;
}

/* Names in the folder whose end is `end`; with NULL all. */
static int files(const char *end) {
    int n = 0;
    DIR *dir = opendir(folder);
    const struct dirent *e;
    while ((e = readdir(dir)) != NULL) {
        size_t length = strlen(e->d_name);
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        n += end == NULL || (length >= strlen(end) && strcmp(e->d_name + length - strlen(end), end) == 0);
    }
    closedir(dir);
    return n;
}

static void path_of(char path[160], const uint8_t id[HD_UUID_BYTES], enum hd_spool_file what) {
    char name[HD_SPOOL_NAME_BYTES];
    hd_spool_name(name, id, what);
    snprintf(path, 160, "%s/%s", folder, name);
}

static bool exists(const uint8_t id[HD_UUID_BYTES], enum hd_spool_file what) {
    char path[160];
    path_of(path, id, what);
    return access(path, F_OK) == 0;
}

static int64_t duration_in(const uint8_t id[HD_UUID_BYTES]) {
    char path[160];
    path_of(path, id, HD_SPOOL_REPORT);
    json_t *report = json_load_file(path, 0, NULL);
    int64_t duration = report == NULL ? -1 : json_integer_value(json_object_get(report, "duration_ns"));
    json_decref(report);
    return duration;
}

static int fresh(void **state) {
    (void)state;
    hd_os = real;
    fail_at = 0;
    fail_with = -EIO;
    strcpy(folder, "/tmp/hangdog-spool-XXXXXX");
    assert_non_null(mkdtemp(folder));
    memset(&spool, 0, sizeof spool);
    assert_int_equal(hd_spool_open(&spool, folder), 0);
    return 0;
}

static int clean(void **state) {
    (void)state;
    hd_os = real;
    hd_spool_close(&spool);
    if (access(folder, F_OK) == 0)
        assert_int_equal(folder_remove(folder), 0);
    return 0;
}

static struct hd_report report_of(uint64_t wall_ns, uint64_t duration_ns) {
    struct hd_report r = {.started_wall_ns = wall_ns, .duration_ns = duration_ns, .cpu_percent = -1};
    hd_uuid_make(r.id, wall_ns);
    return r;
}

static struct hd_report write_one(uint64_t duration_ns) {
    uint64_t wall_ns;
    hd_os.wall_clock(&wall_ns);
    struct hd_report r = report_of(wall_ns, duration_ns);
    assert_int_equal(hd_spool_write(&spool, &r, scratch, false), 0);
    return r;
}

/* ---- tests -------------------------------------------------------------------------------- */

static void makes_folders_as_deep_as_requested(void **state) {
    (void)state;
    char path[256];
    struct hd_spool other;
    memset(&other, 0xff, sizeof other);
    struct stat st;
    snprintf(path, sizeof path, "%s//a/b/./c/", folder);
    assert_int_equal(hd_spool_open(&other, path), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    hd_spool_close(&other);
    assert_int_equal(hd_spool_open(&other, ""), -ENOENT);
    assert_int_equal(other.dir_fd, -1);
    hd_spool_close(&other);
}

/* One that masks its owner's bits: who is not root could neither enter the folders nor read the reports. */
static void what_is_made_is_its_owners_whatever_umask_says(void **state) {
    (void)state;
    static const enum hd_spool_file kinds[] = {HD_SPOOL_REPORT, HD_SPOOL_DEFERRED};
    static const char *const made[] = {"%s/a", "%s/a/b"};
    char path[256], name[HD_SPOOL_NAME_BYTES];
    struct hd_spool other;
    struct stat st;
    mode_t before = umask(0777);
    snprintf(path, sizeof path, made[1], folder);
    int opened = hd_spool_open(&other, path);
    struct hd_report r[] = {report_of(1, 1), report_of(2, 1)};
    int written = hd_spool_write(&other, &r[0], scratch, false),
        deferred = hd_spool_write(&other, &r[1], scratch, true);
    umask(before);
    hd_spool_close(&other);
    assert_int_equal(opened, 0);
    assert_int_equal(written, 0);
    assert_int_equal(deferred, 0);
    for (unsigned i = 0; i < 2; i++) {
        snprintf(path, sizeof path, made[i], folder);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0700);
        hd_spool_name(name, r[i].id, kinds[i]);
        snprintf(path, sizeof path, "%s/a/b/%s", folder, name);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0600);
    }
}

static int chmod_without_proc(int dir, const char *name, int mode) {
    return name[0] == '/' ? -ENOENT : real.chmod_at(dir, name, mode);
}

static void so_it_is_in_a_root_that_has_no_proc(void **state) {
    hd_os.chmod_at = chmod_without_proc;
    what_is_made_is_its_owners_whatever_umask_says(state);
}

static int swap_and_chmod(int dir, const char *name, int mode) {
    char made[80], moved[80];
    snprintf(made, sizeof made, "%s/a", folder);
    snprintf(moved, sizeof moved, "%s/moved", folder);
    if (rename(made, moved) == 0)
        assert_int_equal(symlink("own", made), 0);
    return real.chmod_at(dir, name, mode);
}

/* By who may write to the folder above, before the bits are given. */
static void follows_no_link_that_replaces_the_folder(void **state) {
    (void)state;
    static const struct {
        const char *name;
        mode_t mode;
    } of[] = {{"own", 0440}, {"moved", 0700}};
    char path[256];
    struct hd_spool other;
    struct stat st;
    snprintf(path, sizeof path, "%s/own", folder);
    close(open(path, O_CREAT | O_WRONLY, 0440));
    snprintf(path, sizeof path, "%s/a", folder);
    hd_os.chmod_at = swap_and_chmod;
    mode_t before = umask(0777);
    (void)hd_spool_open(&other, path);
    umask(before);
    hd_spool_close(&other);
    for (unsigned i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, of[i].name);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 07777, of[i].mode);
    }
}

static void fails_where_a_file_is_in_the_way(void **state) {
    (void)state;
    char path[256];
    struct hd_spool other = {0};
    snprintf(path, sizeof path, "%s/file", folder);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    assert_int_equal(hd_spool_open(&other, path), -ENOTDIR);
    assert_int_equal(other.dir_fd, -1);
}

static void a_report_appears_under_its_id_and_nothing_else(void **state) {
    (void)state;
    struct hd_report r = write_one(5);
    assert_true(exists(r.id, HD_SPOOL_REPORT));
    assert_int_equal(files(NULL), 1);
    assert_int_equal(duration_in(r.id), 5);
    r.duration_ns = 6;
    assert_int_equal(hd_spool_write(&spool, &r, scratch, false), 0);
    assert_int_equal(files(NULL), 1);
    assert_int_equal(duration_in(r.id), 6);
}

static void whatever_call_fails_nothing_torn_is_left(void **state) {
    (void)state;
    static const int errors[] = {-EIO, -ENOSPC, -EROFS};
    spool.max_reports = 3;
    for (int i = 0; i < 3; i++)
        write_one(1);
    struct hd_report r = write_one(10);
    let_calls_fail();
    for (size_t e = 0; e < sizeof errors / sizeof errors[0]; e++) {
        fail_with = errors[e];
        for (int n = 1;; n++) {
            int descriptors = open_descriptors();
            uint64_t failed = spool.failed;
            int64_t before = duration_in(r.id);
            r.duration_ns = (uint64_t)before + 1;
            calls = 0;
            fail_at = n;
            int result = hd_spool_write(&spool, &r, scratch, false);
            bool all_done = calls < n;
            fail_at = 0;
            assert_int_equal(files(".tmp"), 0);
            assert_int_equal(open_descriptors(), descriptors);
            assert_int_equal(duration_in(r.id), result == 0 ? before + 1 : before);
            assert_int_equal(spool.failed, failed + (result != 0));
            if (result != 0) {
                assert_int_equal(result, fail_with);
                assert_int_equal(spool.error, -fail_with);
            }
            if (all_done)
                break;
            assert_true(n < 1000);
        }
    }
    assert_int_equal(files(NULL), 3);
}

static void whatever_call_fails_opening_leaks_nothing(void **state) {
    (void)state;
    char path[256];
    write_one(1);
    for (int n = 1;; n++) {
        struct hd_spool other = {0};
        int descriptors = open_descriptors();
        snprintf(path, sizeof path, "%s/new-%d/deep", folder, n);
        let_calls_fail();
        calls = 0;
        fail_at = n;
        int result = hd_spool_open(&other, path);
        hd_os = real;
        assert_int_equal(result < 0, other.dir_fd < 0);
        hd_spool_close(&other);
        assert_int_equal(open_descriptors(), descriptors);
        if (calls < n)
            break;
    }
}

static void lists_a_deferred_report_once_released(void **state) {
    (void)state;
    struct hd_report r = report_of(1, 1);
    assert_int_equal(hd_spool_write(&spool, &r, scratch, true), 0);
    assert_int_equal(files(".json"), 0);
    assert_true(exists(r.id, HD_SPOOL_DEFERRED));
    assert_int_equal(hd_spool_release(&spool, r.id), 0);
    assert_true(exists(r.id, HD_SPOOL_REPORT));
    assert_int_equal(files(NULL), 1);
    assert_int_equal(hd_spool_release(&spool, r.id), -ENOENT);
}

static void withdraws_released_and_deferred_reports(void **state) {
    (void)state;
    struct hd_report deferred = report_of(1, 1), released = report_of(2, 1);
    hd_spool_write(&spool, &deferred, scratch, true);
    hd_spool_write(&spool, &released, scratch, false);
    assert_int_equal(hd_spool_withdraw(&spool, deferred.id), 0);
    assert_int_equal(hd_spool_withdraw(&spool, released.id), 0);
    assert_int_equal(files(NULL), 0);
    assert_int_equal(hd_spool_withdraw(&spool, deferred.id), -ENOENT);
}

static void files_of_others_are_never_touched(void **state) {
    (void)state;
    static const char *const names[] = {"notes.json", "0.json",  ".x.tmp",
                                        "README",     ".hidden", "01A1FB85-D8AB-7721-AFB4-1D9D47E8890F.json"};
    char path[160];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        close(open(path, O_CREAT | O_WRONLY, 0600));
    }
    spool.max_reports = 1;
    write_one(1);
    write_one(1);
    hd_spool_sweep(spool.dir_fd);
    assert_int_equal(files(NULL), 7);
}

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
        TEST(makes_folders_as_deep_as_requested),
        TEST(what_is_made_is_its_owners_whatever_umask_says),
        TEST(so_it_is_in_a_root_that_has_no_proc),
        TEST(follows_no_link_that_replaces_the_folder),
        TEST(fails_where_a_file_is_in_the_way),
        TEST(a_report_appears_under_its_id_and_nothing_else),
        TEST(whatever_call_fails_nothing_torn_is_left),
        TEST(whatever_call_fails_opening_leaks_nothing),
        TEST(lists_a_deferred_report_once_released),
        TEST(withdraws_released_and_deferred_reports),
        TEST(files_of_others_are_never_touched),
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
