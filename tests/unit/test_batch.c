/* SPDX-License-Identifier: MIT
 *
 * Reports that go out together: a line each, their limits, and which files go after them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "folder.h"
#include "uploader/batch.h"

static struct batch b;
static char folder[64], path[96];

static int set_up(void **state) {
    (void)state;
    memset(&b, 0, sizeof b);
    snprintf(folder, sizeof folder, "/tmp/hangdog-test-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/report.json", folder);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    batch_clear(&b);
    return folder_remove(folder);
}

static bool add_text(const char *text, size_t more) {
    struct stat file = {.st_size = 7};
    char *long_text = malloc(more + 1);
    assert_non_null(long_text);
    memset(long_text, 'x', more);
    long_text[more] = '\0';
    json_t *report = json_pack("{s:s,s:s}", "name", text, "a", long_text);
    bool added = batch_add(&b, report, path, &file);
    json_decref(report);
    free(long_text);
    return added;
}

static void each_report_is_a_line(void **state) {
    (void)state;
    assert_true(add_text("first\nline", 0));
    assert_true(add_text("second", 3));
    static const char expected[] =
        "{\"name\":\"first\\nline\",\"a\":\"\"}\n{\"name\":\"second\",\"a\":\"xxx\"}\n";
    assert_int_equal(b.bytes, sizeof expected - 1);
    assert_memory_equal(b.lines, expected, b.bytes);
    assert_int_equal(b.count, 2);
    assert_int_equal(b.item[0].start, 0);
    assert_int_equal(b.item[0].size, b.item[1].start);
    assert_int_equal(b.item[1].start + b.item[1].size, b.bytes);
    assert_string_equal(b.item[1].path, path);
}

static void it_is_full_by_count_and_by_bytes(void **state) {
    (void)state;
    for (int i = 0; i < BATCH_REPORTS; i++) {
        assert_false(batch_is_full(&b));
        assert_true(add_text("x", 100));
    }
    assert_true(batch_is_full(&b));
    size_t bytes = b.bytes;
    assert_false(add_text("x", 100));
    assert_int_equal(b.bytes, bytes);
    assert_int_equal(b.count, BATCH_REPORTS);
    batch_clear(&b);
    assert_int_equal(b.count + b.bytes + b.size, 0);
    assert_true(add_text("x", BATCH_BYTES / 2));
    assert_false(batch_is_full(&b));
    assert_true(add_text("x", BATCH_BYTES / 2));
    assert_true(batch_is_full(&b));
}

static void write_file(const char *text) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static struct batch_item item_of_file(void) {
    struct batch_item item = {.path = path};
    assert_int_equal(lstat(path, &item.file), 0);
    return item;
}

static void a_file_goes_only_as_it_was_read(void **state) {
    (void)state;
    char other[128];
    write_file("report");
    struct batch_item item = item_of_file();
    write_file("report, which has grown");
    batch_remove_file(&item);
    assert_int_equal(access(path, F_OK), 0);

    item = item_of_file();
    usleep(20000);
    write_file("report, which has groWn"); /* of the same size */
    batch_remove_file(&item);
    assert_int_equal(access(path, F_OK), 0);

    item = item_of_file();
    snprintf(other, sizeof other, "%s/other", folder);
    assert_int_equal(rename(path, other), 0);
    assert_int_equal(symlink(other, path), 0); /* a link to the same file */
    batch_remove_file(&item);
    assert_int_equal(access(other, F_OK), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rename(other, path), 0);

    item = item_of_file();
    batch_remove_file(&item);
    assert_int_equal(access(path, F_OK), -1);
    batch_remove_file(&item); /* it is gone */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_report_is_a_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(it_is_full_by_count_and_by_bytes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_goes_only_as_it_was_read, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
