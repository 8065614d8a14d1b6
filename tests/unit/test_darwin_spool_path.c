/* SPDX-License-Identifier: MIT
 *
 * The spool's folder by Darwin's rules: missing folders are made, the ones above may be closed to us, long
 * and odd paths.
 *
 * sources: src/report/darwin/spool_path.c
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"
#include "os/darwin/file_protection.h"
#include "os/os.h"
#include "report/spool.h"
#include "report/spool_path.h"

static char top[] = "/tmp/hangdog-spool-path-XXXXXX";
static char path[2 * PATH_MAX], name[HD_SPOOL_FOLDER_BYTES];
static int above;
static struct hd_os_calls real;
static int lowered; /* the folders whose class became less strict */

void hd_file_protection_lower(int folder) {
    assert_true(folder >= 0);
    lowered++;
}

/* A sandbox: folders that are shorter than `top` cannot be opened. */
static int open_inside(int dir, const char *of, int flags, int mode) {
    return of[0] == '/' && strlen(of) < strlen(top) ? -EPERM : real.open_at(dir, of, flags, mode);
}

static int set_up(void **state) {
    (void)state;
    real = hd_os;
    hd_os.open_at = open_inside;
    memcpy(strrchr(top, '-'), "-XXXXXX", 8);
    return mkdtemp(top) == NULL;
}

static int tear_down(void **state) {
    (void)state;
    hd_os = real;
    return folder_remove(top);
}

static int enter(const char *below) {
    (void)snprintf(path, sizeof path, "%s%s", top, below);
    above = -1;
    return hd_spool_enter_path(path, name, sizeof name, &above);
}

static void assert_folder(int fd, const char *below) {
    struct stat by_path, by_fd;
    char whole[PATH_MAX];
    (void)snprintf(whole, sizeof whole, "%s%s", top, below);
    assert_true(fd >= 0);
    assert_int_equal(stat(whole, &by_path), 0);
    assert_int_equal(fstat(fd, &by_fd), 0);
    assert_true(S_ISDIR(by_fd.st_mode) && by_path.st_ino == by_fd.st_ino);
    assert_int_equal(by_fd.st_mode & 077, 0);
    (void)close(fd);
    (void)close(above);
}

static void missing_folders_are_made(void **state) {
    (void)state;
    assert_folder(enter("/a/b//c/spool/"), "/a/b/c/spool");
    assert_string_equal(name, "spool");
    assert_folder(enter("/a/b/c/spool"), "/a/b/c/spool");
    assert_folder(enter("/a/b/other"), "/a/b/other");
    assert_true(above >= 0);
}

static void the_parent_makes_the_folder_again(void **state) {
    (void)state;
    int fd = enter("/a/spool"), parent = above;
    assert_true(fd >= 0 && parent >= 0);
    assert_int_equal(rmdir(path), 0);
    int again = hd_spool_enter_folder(parent, name);
    above = parent;
    assert_folder(again, "/a/spool");
    (void)close(fd);
}

static void a_closed_parent_is_no_error(void **state) {
    (void)state;
    int fd = enter(""); /* its parent is /tmp */
    assert_true(fd >= 0);
    assert_int_equal(above, -EPERM);
    (void)close(fd);
}

static void a_file_in_the_way_is_an_error(void **state) {
    (void)state;
    (void)snprintf(path, sizeof path, "%s/file", top);
    (void)close(open(path, O_CREAT | O_WRONLY, 0600));
    assert_int_equal(enter("/file"), -ENOTDIR);
    assert_int_equal(enter("/file/spool"), -ENOTDIR);
}

static void long_paths_have_a_limit(void **state) {
    static char below[PATH_MAX + 2];
    (void)state;
    memset(below, 'x', sizeof below - 1);
    below[0] = '/';
    assert_int_equal(enter(below), -ENAMETOOLONG);
    below[HD_SPOOL_FOLDER_BYTES + 1] = '\0';
    assert_int_equal(enter(below), -ENAMETOOLONG);
}

static void a_relative_path_starts_at_the_present_folder(void **state) {
    char before[PATH_MAX];
    (void)state;
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(top), 0);
    int fd = hd_spool_enter_path("one/two", name, sizeof name, &above);
    assert_folder(fd, "/one/two");
    fd = hd_spool_enter_path("three", name, sizeof name, &above);
    assert_folder(fd, "/three");
    assert_int_equal(chdir(before), 0);
}

/* The program's own folder keeps its class. */
static void only_a_folder_of_ours_is_open_on_a_locked_device(void **state) {
    (void)state;
    lowered = 0;
    int first = enter("/Library/hangdog"), second = enter("/Library/hangdog"), old = enter("/Library");
    assert_true(first >= 0 && second >= 0 && old >= 0);
    assert_int_equal(lowered, 1);
    close(first);
    close(second);
    close(old);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(missing_folders_are_made, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_parent_makes_the_folder_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_closed_parent_is_no_error, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_in_the_way_is_an_error, set_up, tear_down),
        cmocka_unit_test_setup_teardown(long_paths_have_a_limit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_relative_path_starts_at_the_present_folder, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_a_folder_of_ours_is_open_on_a_locked_device, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
