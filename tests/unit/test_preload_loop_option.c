/* SPDX-License-Identifier: MIT
 *
 * The loop that the user names: functions by name in a file's full table of symbols, also in files that are
 * torn or lie.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "image/file_symbol.h"
#include "recognise/loop_option.h"

#ifdef __clang__
#define WHOLE __attribute__((noinline))
#else
#define WHOLE __attribute__((noinline, noclone))
#endif

WHOLE static int a_function_by_name(int n) {
    __asm__ volatile("# by name" ::: "memory");
    return n;
}

WHOLE static int not_a_function_by_name(int n) {
    __asm__ volatile("# not by name" ::: "memory");
    return n;
}

static void test_a_function_that_is_not_exported(void **state) {
    (void)state;
    uint64_t here = hd_file_symbol("/proc/self/exe", "a_function_by_name");
    uint64_t other = hd_file_symbol("/proc/self/exe", "not_a_function_by_name");
    assert_true(here != 0 && other != 0);
    assert_int_equal((int64_t)(other - here),
                     (intptr_t)not_a_function_by_name - (intptr_t)a_function_by_name);
    assert_int_equal(hd_file_symbol("/proc/self/exe", "a_function_by_nam"), 0);
    assert_int_equal(hd_file_symbol("/proc/self/exe", ""), 0);
    assert_int_equal(hd_file_symbol("/no/such/file", "main"), 0);
    assert_int_equal(hd_file_symbol("/", "main"), 0);
    assert_int_equal(a_function_by_name(1) + not_a_function_by_name(1), 2);
}

static void test_torn_and_lying_files(void **state) {
    (void)state;
    char path[] = "/tmp/hangdog-test-XXXXXX";
    int to = mkstemp(path), from = open("/proc/self/exe", O_RDONLY);
    static uint8_t bytes[16 << 20];
    ssize_t n = read(from, bytes, sizeof bytes);
    assert_in_range(n, 1, sizeof bytes - 1); /* all of it */
    unsigned seed = 7, found = 0;
    for (int i = 0; i < 300; i++) {
        memcpy(bytes, "\177ELF", 4);
        for (int k = 0; k < i % 8; k++) { /* the header, or the tables at the end */
            size_t at =
                rand_r(&seed) % 2 ? (size_t)rand_r(&seed) % 64 : (size_t)n - 1 - (size_t)rand_r(&seed) % 2048;
            bytes[at] = (uint8_t)rand_r(&seed);
        }
        assert_int_equal(ftruncate(to, 0), 0);
        assert_int_equal(pwrite(to, bytes, i % 3 != 2 ? (size_t)n : (size_t)n - (size_t)i, 0) > 0, 1);
        found += hd_file_symbol(path, "a_function_by_name") != 0;
        assert_true(pread(from, bytes, (size_t)n, 0) == n);
    }
    assert_in_range(found, 1, 299);
    close(to);
    close(from);
    unlink(path);
}

static void test_the_options_words(void **state) {
    (void)state;
    struct hd_loop_option c;
    hd_loop_option_init(&c, "");
    assert_false(hd_loop_option_is_set(&c));
    hd_loop_option_init(&c, "libuv.so.1:uv__io_poll");
    assert_string_equal(c.module, "libuv.so.1");
    assert_string_equal(c.function, "uv__io_poll");
    hd_loop_option_init(&c, "app:ns::run");
    assert_string_equal(c.function, "ns::run");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_function_that_is_not_exported),
        cmocka_unit_test(test_torn_and_lying_files),
        cmocka_unit_test(test_the_options_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
