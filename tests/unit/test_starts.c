/* SPDX-License-Identifier: MIT
 *
 * The function of an address, in a list of many function starts, by positions that were kept in the list.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "chance.h"
#include "unwind/macho/starts.h"

#define TEXT UINT64_C(0x104000000)
#define LIST UINT64_C(0x105000000)
#define FUNCTIONS 30000u
#define END_BYTES 0x100u /* from the last function's start to the text's end */

static uint8_t list[4 * FUNCTIONS];
static size_t list_bytes;
static uint64_t start_of[FUNCTIONS + 1];
static size_t bytes_read;

static int read_list(void *ctx, uint64_t addr, void *dst, size_t n) {
    (void)ctx;
    if (addr < LIST || addr - LIST > list_bytes || n > list_bytes - (addr - LIST)) {
        return -EFAULT;
    }
    bytes_read += n;
    memcpy(dst, list + (addr - LIST), n);
    return 0;
}

static const struct hd_memory memory = {.read = read_list};
static struct hd_starts starts;

static void open_list(unsigned functions) {
    uint64_t at = TEXT;
    list_bytes = 0;
    for (unsigned i = 0; i < functions; i++) {
        uint32_t distance = 4 + 4 * any(i % 7 == 0 ? 5000 : 40);
        at += distance;
        start_of[i] = at;
        for (; distance > 0x7f; distance >>= 7) {
            list[list_bytes++] = (uint8_t)(distance | 0x80);
        }
        list[list_bytes++] = (uint8_t)distance;
    }
    start_of[functions] = at + END_BYTES;
    list[list_bytes++] = 0;
    struct hd_macho_tables tables = {.text = TEXT,
                                     .text_bytes = at + END_BYTES - TEXT,
                                     .function_starts = LIST,
                                     .function_starts_bytes = list_bytes};
    hd_starts_open(&starts, &memory, &tables);
}

static void check(uint64_t pc, uint64_t expected_start, uint64_t expected_stop) {
    uint64_t start, stop;
    assert_true(hd_starts_find(&starts, &memory, pc, &start, &stop));
    assert_true(start == expected_start && stop == expected_stop);
}

static void each_function_is_found(void **state) {
    static const unsigned counts[] = {1, 2, 100, 600, FUNCTIONS};
    uint64_t start, stop;
    (void)state;
    for (size_t n = 0; n < sizeof counts / sizeof counts[0]; n++) {
        open_list(counts[n]);
        for (unsigned i = 0; i < counts[n]; i++) {
            check(start_of[i], start_of[i], start_of[i + 1]);
            check(start_of[i + 1] - 1, start_of[i], start_of[i + 1]);
        }
        assert_false(hd_starts_find(&starts, &memory, TEXT, &start, &stop));
        assert_false(hd_starts_find(&starts, &memory, start_of[0] - 1, &start, &stop));
        assert_false(hd_starts_find(&starts, &memory, start_of[counts[n]], &start, &stop));
        assert_false(hd_starts_find(&starts, &memory, TEXT - 1, &start, &stop));
    }
}

static void a_search_reads_a_part_of_the_list(void **state) {
    uint64_t start, stop;
    (void)state;
    open_list(FUNCTIONS);
    for (unsigned i = 0; i < 1000; i++) {
        bytes_read = 0;
        assert_true(hd_starts_find(&starts, &memory, start_of[any(FUNCTIONS)], &start, &stop));
        assert_true(bytes_read <= list_bytes / HD_STARTS_MARKS + 600);
    }
}

static void an_image_without_a_list_has_no_functions(void **state) {
    struct hd_macho_tables tables = {.text = TEXT, .text_bytes = 0x1000};
    uint64_t start, stop;
    (void)state;
    hd_starts_open(&starts, &memory, &tables);
    assert_false(hd_starts_find(&starts, &memory, TEXT + 4, &start, &stop));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_function_is_found),
        cmocka_unit_test(a_search_reads_a_part_of_the_list),
        cmocka_unit_test(an_image_without_a_list_has_no_functions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
