/* SPDX-License-Identifier: MIT
 *
 * The spool folder: reports whole or not at all, whatever fails.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/spool.h"
#include "spool_folder.h"

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
    if (rename(made, moved) == 0) {
        assert_int_equal(symlink("own", made), 0);
    }
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
    for (int i = 0; i < 3; i++) {
        write_one(1);
    }
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
            if (all_done) {
                break;
            }
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
        if (calls < n) {
            break;
        }
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

#define TEST(f) cmocka_unit_test_setup_teardown(f, fresh, clean)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(makes_folders_as_deep_as_requested),       TEST(what_is_made_is_its_owners_whatever_umask_says),
        TEST(so_it_is_in_a_root_that_has_no_proc),      TEST(follows_no_link_that_replaces_the_folder),
        TEST(fails_where_a_file_is_in_the_way),         TEST(a_report_appears_under_its_id_and_nothing_else),
        TEST(whatever_call_fails_nothing_torn_is_left), TEST(whatever_call_fails_opening_leaks_nothing),
        TEST(lists_a_deferred_report_once_released),    TEST(withdraws_released_and_deferred_reports),
        TEST(files_of_others_are_never_touched),
    };
    hd_os_clock_init();
    real = hd_os;
    scratch = malloc(hd_report_scratch_bytes());
    int failed = scratch == NULL ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
    free(scratch);
    return failed;
}
