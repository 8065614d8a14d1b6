/* SPDX-License-Identifier: MIT
 *
 * One report through the worker, hangdog-name: the real one with real debug files, and programs in its place
 * that misbehave as a worker could that a hostile file has taken over. The worker is found next to the
 * program that starts it: the test runs as a copy of itself in a folder of its own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#define print_error cmocka_print_error /* the command has one, too */
#include <cmocka.h>
#undef print_error

#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <time.h>

#include "cli/base/error.h"
#include "collector/symbols/worker_run.h"
#include "debug_files.h"

#define FOLDER "HANGDOG_TEST_FOLDER"
#define REAL "libexec/hangdog/hangdog-name"

static const char *folder;
static char why[WORKER_WHY_BYTES];
static enum worker_end end;

static void set_worker(const char *script) {
    char path[256];
    snprintf(path, sizeof path, "%s/hangdog-name", folder);
    unlink(path);
    debug_write(folder, "hangdog-name", script, strlen(script));
    assert_int_equal(chmod(path, 0700), 0);
}

static void set_real_worker(void) {
    char path[256], real[PATH_MAX];
    const char *build = getenv("HANGDOG_BUILD");
    snprintf(real, sizeof real, "%s/" REAL, build != NULL ? build : ".");
    if (access(real, X_OK) != 0) {
        skip();
    }
    snprintf(path, sizeof path, "%s/hangdog-name", folder);
    unlink(path);
    assert_int_equal(symlink(real, path), 0);
}

/* A text; the caller frees it. */
static char *run(const char *report, size_t bytes) {
    struct worker_result r;
    worker_name(folder, report, bytes, &r);
    memcpy(why, r.why, sizeof why);
    end = r.end;
    char *text = r.named != NULL ? realloc(r.named, r.bytes + 1) : NULL;
    if (text != NULL) {
        text[r.bytes] = '\0';
    }
    return text;
}

static void says(enum worker_end wanted, const char *reason) {
    if (end != wanted || strstr(why, reason) == NULL) {
        fail_msg("%d '%s', not %d '%s'", end, why, wanted, reason);
    }
}

static void fails(enum worker_end wanted, const char *reason) {
    char *text = run("{}", 2);
    bool failed = text == NULL;
    free(text);
    assert_true(failed);
    says(wanted, reason);
}

static void check(enum worker_end wanted, const char *reason) {
    struct worker_result r;
    worker_check(folder, DEBUG_BUILD_ID, &r);
    memcpy(why, r.why, sizeof why);
    end = r.end;
    assert_null(r.named);
    says(wanted, reason);
}

static void put_file(const void *data, size_t bytes, mode_t mode) {
    char path[256];
    snprintf(path, sizeof path, "%s/" DEBUG_BUILD_ID, folder);
    unlink(path);
    debug_write(folder, DEBUG_BUILD_ID, data, bytes);
    assert_int_equal(chmod(path, mode), 0);
}

/* The offset of resize_image in FOLDER/shop. */
static unsigned long offset_of_function(void) {
    static const char script[] = "/usr/bin/nm $1/shop >$1/symbols\n";
    char path[256], line[256];
    unsigned long offset = 0;
    debug_write(folder, "nm.sh", script, strlen(script));
    assert_int_equal(debug_run("/bin/sh %s/nm.sh %s", folder, folder), 0);
    snprintf(path, sizeof path, "%s/symbols", folder);
    FILE *symbols = fopen(path, "re");
    assert_non_null(symbols);
    while (fgets(line, sizeof line, symbols) != NULL) {
        if (strstr(line, " resize_image\n") != NULL) {
            offset = strtoul(line, NULL, 16);
        }
    }
    fclose(symbols);
    assert_true(offset > 0);
    return offset;
}

/* `path`: of the module, as JSON, or no member. */
static char *report_of(const char *path, unsigned long offset) {
    static char text[1024];
    snprintf(text, sizeof text,
             "{\"id\":\"x\",\"modules\":[{%s\"base\":\"0x100000\",\"size\":1048576,"
             "\"build_id\":\"" DEBUG_BUILD_ID
             "\"}],\"hot_stack\":{\"frames\":[{\"pc\":\"0x%lx\",\"module\":0,"
             "\"offset\":\"0x%lx\",\"trust\":\"context\"}]}}",
             path, 0x100000 + offset, offset);
    return text;
}

static void the_real_worker_names_a_frame(void **state) {
    (void)state;
    size_t bytes;
    set_real_worker();
    if (!debug_make(folder)) {
        skip();
    }
    unsigned char *data = debug_read(folder, "shop.debug", &bytes);
    unsigned long offset = offset_of_function();
    put_file(data, bytes, 0400);
    /* whatever the sender says of the path: other clients send two-part paths, or none */
    static const char *const paths[] = {"\"path\":\"/opt/shop\",",
                                        "\"path\":\"base.apk!/lib/x86_64/libshop.so\",",
                                        "\"path\":\"linux-vdso.so.1\",",
                                        "\"path\":\"\",",
                                        "\"path\":7,",
                                        ""};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        const char *report = report_of(paths[i], offset);
        char *named = run(report, strlen(report));
        if (named == NULL) {
            fail_msg("%s: %s", paths[i], why);
        }
        assert_non_null(strstr(named, "\"function\":\"resize_image\""));
        assert_non_null(strstr(named, "shop.c\""));
        assert_non_null(strstr(named, paths[i]));
        assert_true(paths[i][0] != '\0' || strstr(named, "\"path\"") == NULL);
        free(named);
    }
    put_file(data, bytes, 0600); /* it was not checked */
    char *named = run(report_of(paths[0], offset), strlen(report_of(paths[0], offset)));
    assert_non_null(named);
    assert_null(strstr(named, "function"));
    free(named);
    assert_null(run("{", 1)); /* no report */
    says(WORKER_STOPPED, "the worker ended with status 1");
    free(data);
}

static void the_real_worker_checks_a_file(void **state) {
    (void)state;
    size_t bytes;
    set_real_worker();
    if (!debug_make(folder)) {
        skip();
    }
    unsigned char *data = debug_read(folder, "shop.debug", &bytes);
    put_file(data, bytes, 0600);
    check(WORKER_DONE, "");
    for (size_t part = 0; part < 4; part++) {
        put_file(data, bytes * part / 4, 0600);
        check(WORKER_BAD_FILE, "it is no ELF and no Mach-O file, or its end is missing");
    }
    unsigned char *id = memmem(data, bytes, "\x00\x11\x22\x33\x44\x55\x66\x77", 8);
    assert_non_null(id);
    id[0] = 1;
    put_file(data, bytes, 0600);
    check(WORKER_BAD_FILE, "the build-id differs");
    free(data);
}

static void ends_of_a_worker(void **state) {
    (void)state;
    char path[256];
    set_worker("#!/bin/sh\nexit 3\n"); /* the end of a check: no report has a verdict on a file */
    fails(WORKER_STOPPED, "the worker wrote no report");
    set_worker("#!/bin/sh\ncat >/dev/null; exit 9\n");
    fails(WORKER_STOPPED, "the worker ended with status 9");
    set_worker("#!/bin/sh\nkill -SEGV $$\n");
    fails(WORKER_CRASHED, "signal 11 ended the worker");
    set_worker("#!/bin/sh\nkill -XCPU $$\n");
    fails(WORKER_STOPPED, "signal 24 ended the worker");
    set_worker("#!/bin/sh\nexit 0\n"); /* without a report */
    fails(WORKER_STOPPED, "the worker wrote no report");
    set_worker("#!/bin/sh\necho '{}'; kill -KILL $$\n"); /* a report, and then its death */
    fails(WORKER_STOPPED, "signal 9 ended the worker");
    set_worker("#!/nowhere/sh\n");
    fails(WORKER_NOT_STARTED, "the worker cannot start: No such file");
    snprintf(path, sizeof path, "%s/hangdog-name", folder);
    unlink(path);
    fails(WORKER_NOT_STARTED, "the worker cannot start: No such file");
}

static void ends_of_a_check(void **state) {
    (void)state;
    set_worker("#!/bin/sh\nprintf 'it is damaged'\nexit 3\n");
    check(WORKER_BAD_FILE, "it is damaged");
    set_worker("#!/bin/sh\nkill -SEGV $$\n"); /* the file alone led to it */
    check(WORKER_BAD_FILE, "signal 11 ended the worker");
    set_worker("#!/bin/sh\nkill -KILL $$\n");
    check(WORKER_STOPPED, "signal 9 ended the worker");
    set_worker("#!/bin/sh\nkill -SYS $$\n");
    check(WORKER_STOPPED, "signal 31 ended the worker");
    set_worker("#!/bin/sh\nexit 1\n");
    check(WORKER_STOPPED, "the worker ended with status 1");
    set_worker("#!/nowhere/sh\n");
    check(WORKER_NOT_STARTED, "the worker cannot start");
    set_worker("#!/bin/sh\nexit 0\n");
    check(WORKER_DONE, "");
}

static void it_gets_the_report_and_no_variable(void **state) {
    (void)state;
    set_worker("#!/bin/sh\n/usr/bin/wc -c </proc/$$/environ\necho \"$1\"\necho $#\n/bin/cat\nexit 0\n");
    setenv("SECRET", "x", 1);
    char *text = run("the report", 10), expected[256];
    assert_non_null(text);
    snprintf(expected, sizeof expected, "0\n%s\n1\nthe report", folder);
    assert_string_equal(text, expected);
    free(text);
}

/* Both pipes are full at times. */
static void a_large_report_goes_both_ways(void **state) {
    (void)state;
    const size_t bytes = (size_t)8 << 20;
    char *report = malloc(bytes);
    assert_non_null(report);
    for (size_t i = 0; i < bytes; i++) {
        report[i] = (char)('a' + i % 23);
    }
    set_worker("#!/bin/sh\n/bin/cat\nexit 0\n");
    char *text = run(report, bytes);
    assert_non_null(text);
    assert_memory_equal(text, report, bytes);
    free(text);
    set_worker("#!/bin/sh\n/usr/bin/head -c 10\nexit 0\n"); /* it takes no more than the start */
    text = run(report, bytes);
    assert_non_null(text);
    assert_string_equal(text, "abcdefghij");
    free(text);
    free(report);
}

static void a_worker_that_writes_without_end_is_ended(void **state) {
    (void)state;
    set_worker("#!/bin/sh\nexec /bin/cat /dev/zero\n");
    fails(WORKER_STOPPED, "ended the worker");
}

/* A worker that closes its output and stays is not waited for. */
static void a_worker_that_stays_is_ended(void **state) {
    (void)state;
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    set_worker("#!/bin/sh\nexec >&-\nexec /bin/sleep 60\n");
    fails(WORKER_STOPPED, "signal 9 ended the worker");
    clock_gettime(CLOCK_MONOTONIC, &now);
    assert_true(now.tv_sec - start.tv_sec < 20);
}

static int descriptors(void) {
    DIR *dir = opendir("/proc/self/fd");
    int count = 0;
    while (readdir(dir) != NULL) {
        count++;
    }
    closedir(dir);
    return count;
}

static void nothing_is_left_over(void **state) {
    (void)state;
    int before = descriptors();
    for (int i = 0; i < 20; i++) {
        set_worker(i % 2 == 0 ? "#!/bin/sh\nexit 3\n" : "#!/nowhere/sh\n");
        assert_null(run("{}", 2));
    }
    assert_int_equal(descriptors(), before);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child */
}

static int test_in(const char *own) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_real_worker_names_a_frame),
        cmocka_unit_test(the_real_worker_checks_a_file),
        cmocka_unit_test(ends_of_a_worker),
        cmocka_unit_test(ends_of_a_check),
        cmocka_unit_test(it_gets_the_report_and_no_variable),
        cmocka_unit_test(a_large_report_goes_both_ways),
        cmocka_unit_test(a_worker_that_writes_without_end_is_ended),
        cmocka_unit_test(a_worker_that_stays_is_ended),
        cmocka_unit_test(nothing_is_left_over),
    };
    folder = own;
    signal(SIGPIPE, SIG_IGN); /* as the collector has it */
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void) {
    const char *own = getenv(FOLDER);
    if (own != NULL) {
        return test_in(own);
    }
    char place[] = "/tmp/hangdog-test-XXXXXX", copy[64];
    int status = -1;
    pid_t pid;
    if (mkdtemp(place) == NULL) {
        return 1;
    }
    snprintf(copy, sizeof copy, "%s/test", place);
    setenv(FOLDER, place, 1);
    char *words[] = {copy, NULL};
    if (debug_run("/bin/cp /proc/%d/exe %s", (int)getpid(), copy) == 0 &&
        posix_spawn(&pid, copy, NULL, NULL, words, environ) == 0) {
        waitpid(pid, &status, 0);
    }
    folder_remove(place);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
