/* SPDX-License-Identifier: MIT
 *
 * Which programs `hangdog run` refuses on macOS, with the reason and a command that helps. The environment of
 * a program that gets the library.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define print_error cmocka_print_error /* the command has one, too */
#include <cmocka.h>
#undef print_error

#include "cli/run/insert_check.h"
#include "cli/run/insert_environment.h"
#include "macho_image.h"
#include "record/run_text.h"

static char folder[] = "/tmp/hangdog-test-XXXXXX";
static char path[256];
static struct problem why;

static const char *write_file(const char *name, const void *bytes, size_t count, mode_t mode) {
    snprintf(path, sizeof path, "%s/%s", folder, name);
    unlink(path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(count, fwrite(bytes, 1, count, file));
    fclose(file);
    assert_int_equal(0, chmod(path, mode));
    return path;
}

static const char *write_script(const char *name, const char *text) {
    return write_file(name, text, strlen(text), 0755);
}

static const char *write_program(const char *name, uint32_t cpu, uint32_t subtype, mode_t mode) {
    static struct macho_image image;
    macho_image_init(&image, 0x10000, NULL, 0);
    macho_image_header(&image)->cpu = cpu;
    macho_image_header(&image)->cpu_subtype = subtype;
    return write_file(name, image.bytes, sizeof image.bytes, mode);
}

static bool possible(const char *program) {
    memset(&why, 0, sizeof why);
    return insert_is_possible(program, HD_MACHO_CPU_ARM64, &why);
}

static void test_a_program_takes_it(void **state) {
    (void)state;
    assert_true(possible(write_program("plain", HD_MACHO_CPU_ARM64, 0, 0755)));
    assert_true(possible("/nonexistent/program"));
    assert_true(possible(folder));
    assert_true(possible(write_script("empty", "")));
}

static void test_reasons(void **state) {
    (void)state;
    assert_false(possible(write_program("signed", HD_MACHO_CPU_ARM64, 2, 0755)));
    assert_string_equal("it has code with signed pointers (arm64e), which Hangdog's library lacks", why.text);
    assert_false(possible(write_program("other", 0x0100000d, 0, 0755)));
    assert_string_equal("it is for another CPU", why.text);
    assert_false(possible(write_program("setuid", HD_MACHO_CPU_ARM64, 0, 04755)));
    assert_string_equal("it changes its user (setuid), so that macOS drops DYLD_INSERT_LIBRARIES", why.text);
}

static void test_a_program_of_the_system(void **state) {
    char real[4096], expected[8192];
    (void)state;
    assert_non_null(realpath("/bin/sh", real));
    assert_false(possible("/bin/sh"));
    snprintf(expected, sizeof expected, "it is protected by macOS (%s), which drops DYLD_INSERT_LIBRARIES",
             real);
    assert_string_equal(expected, why.text);
    snprintf(path, sizeof path, "%s/link", folder);
    assert_int_equal(0, symlink("/bin/sh", path));
    assert_false(possible(path));
    assert_string_equal(expected, why.text);
}

static void test_a_script_is_its_interpreter(void **state) {
    char text[512];
    (void)state;
    write_program("interpreter", HD_MACHO_CPU_ARM64, 0, 0755);
    snprintf(text, sizeof text, "#! %s/interpreter -u\n", folder);
    assert_true(possible(write_script("script", text)));
    write_program("interpreter", HD_MACHO_CPU_ARM64, 2, 0755);
    snprintf(path, sizeof path, "%s/script", folder);
    assert_false(possible(path));
    assert_non_null(strstr(why.text, "its interpreter /tmp/hangdog-test-"));
    assert_non_null(strstr(why.text, "arm64e"));
    assert_false(possible(write_script("by-env", "#!/usr/bin/env python3\n")));
    assert_non_null(strstr(why.text, "its interpreter is protected by macOS (/usr/bin/env)"));
    assert_non_null(strstr(why.command, " run python3 "));
    assert_false(possible(write_script("by-shell", "#!/bin/sh\n")));
    assert_non_null(strstr(why.text, "its interpreter /bin/sh is protected by macOS"));
}

static void test_the_environment(void **state) {
    static struct hd_record_options options, read;
    (void)state;
    options.threshold_ns = 2000000000;
    options.crash = true;
    strcpy(options.spool, "/tmp/a spool=x");
    setenv("DYLD_INSERT_LIBRARIES", "/a/user's.dylib", 1);
    assert_int_equal(-EINVAL, insert_environment_set(&options, "/a:b/libhangdog-insert.dylib"));
    assert_null(getenv("HANGDOG_RUN"));
    assert_int_equal(0, insert_environment_set(&options, "/lib/libhangdog-insert.dylib"));
    assert_string_equal("/lib/libhangdog-insert.dylib:/a/user's.dylib", getenv("DYLD_INSERT_LIBRARIES"));
    assert_int_equal(0, hd_run_text_read(&read, getenv("HANGDOG_RUN")));
    assert_memory_equal(&options, &read, sizeof read);
    strcpy(options.app_name, "two\nlines");
    assert_int_equal(-EINVAL, insert_environment_set(&options, "/lib/libhangdog-insert.dylib"));
}

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int remove_folder(void **state) {
    static const char *const names[] = {"plain",       "empty",  "signed", "other",    "setuid", "link",
                                        "interpreter", "script", "by-env", "by-shell", "."};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    return rmdir(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_program_takes_it),      cmocka_unit_test(test_reasons),
        cmocka_unit_test(test_a_program_of_the_system), cmocka_unit_test(test_a_script_is_its_interpreter),
        cmocka_unit_test(test_the_environment),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
