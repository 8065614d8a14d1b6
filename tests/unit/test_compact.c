/* SPDX-License-Identifier: MIT
 *
 * Finds entries of compact unwind information in both kinds of pages. A damaged section gives the right entry
 * or an error, never a neighbour.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "chance.h"
#include "unwind/macho/compact.h"
#include "unwind_info.h"

static struct unwind_info info;
static struct hd_compact compact;
static struct hd_compact_entry entry;

static int set_up(void **state) {
    (void)state;
    info_init(&info);
    return hd_compact_open(&info.memory, &info.tables, &compact);
}

static int find(uint32_t offset) {
    memset(&entry, 0, sizeof entry);
    return hd_compact_find(&info.memory, &compact, INFO_TEXT + offset, &entry);
}

static int open_again(void) {
    return hd_compact_open(&info.memory, &info.tables, &compact);
}

static void expect(uint32_t offset, uint32_t start, uint32_t stop, uint32_t encoding) {
    assert_int_equal(find(offset), 0);
    assert_int_equal(entry.start - INFO_TEXT, start);
    assert_int_equal(entry.stop - INFO_TEXT, stop);
    assert_int_equal(entry.encoding, encoding);
}

static void each_address_has_its_entry(void **state) {
    (void)state;
    expect(0x1000, 0x1000, 0x1100, 0x04000000);
    expect(0x10ff, 0x1000, 0x1100, 0x04000000);
    expect(0x1100, 0x1100, 0x1180, 0x02001000);
    expect(0x1180, 0x1180, 0x2000, 0x03000044);
    expect(0x1fff, 0x1180, 0x2000, 0x03000044);
    expect(0x2000, 0x2000, 0x2040, 0x04000001);
    expect(0x2fff, 0x2040, 0x3000, 0);
}

static void addresses_outside_have_none(void **state) {
    (void)state;
    assert_int_equal(find(0xfff), -ENOENT);
    assert_int_equal(find(0x3000), -ENOENT);
    assert_int_equal(hd_compact_find(&info.memory, &compact, INFO_TEXT - 1, &entry), -ENOENT);
    assert_int_equal(hd_compact_find(&info.memory, &compact, INFO_TEXT + UINT64_C(0x100001000), &entry),
                     -ENOENT);
}

static void an_image_without_the_section_has_no_table(void **state) {
    (void)state;
    info.tables.unwind_info = 0;
    assert_int_equal(open_again(), -ENOENT);
}

static void a_page_without_entries_covers_nothing(void **state) {
    (void)state;
    info_u32(&info, INFO_INDEX + 4, 0);
    assert_int_equal(find(0x1000), -ENOENT);
    info_u16(&info, INFO_REGULAR + 6, 0);
    assert_int_equal(find(0x2000), -ENOENT);
}

static void a_damaged_header_is_refused(void **state) {
    static const struct {
        uint32_t at, value;
    } damage[] = {{0, 2},  {4, 0xfffffff0}, {8, 0x40000000},  {20, INFO_BYTES}, {20, 0xfffffff0},
                  {24, 0}, {24, 1},         {24, 0x7fffffff}, {24, 40},         {INFO_INDEX, 0x2001}};
    (void)state;
    for (size_t i = 0; i < sizeof damage / sizeof damage[0]; i++) {
        info_init(&info);
        info_u32(&info, damage[i].at, damage[i].value);
        assert_int_equal(open_again(), -EINVAL);
    }
}

static void an_unsorted_page_is_refused(void **state) {
    (void)state;
    info_u32(&info, INFO_ENTRIES + 4, 0x01000181); /* behind the third one */
    assert_int_equal(find(0x1000), -EINVAL);
    assert_int_equal(find(0x1200), -EINVAL);
    expect(0x2000, 0x2000, 0x2040, 0x04000001); /* the other page is fine */
    info_u32(&info, INFO_REGULAR + 16, 0x3001); /* behind the page's end */
    assert_int_equal(find(0x2000), -EINVAL);
    info_u32(&info, INFO_REGULAR + 16, 0x1fff);
    assert_int_equal(find(0x2000), -EINVAL);
}

static void a_damaged_page_is_refused(void **state) {
    static const struct {
        uint32_t at, value;
    } damage[] = {{INFO_COMPRESSED, 1},
                  {INFO_COMPRESSED, 4},
                  {INFO_INDEX + 4, INFO_BYTES - 4},
                  {INFO_INDEX + 4, 0xfffffff8},
                  {INFO_COMPRESSED + 4, 0x0003ffff},
                  {INFO_COMPRESSED + 4, 0xffff000c},
                  {INFO_COMPRESSED + 8, 0x0001ffff},
                  {INFO_COMPRESSED + 8, 0xffff0018}};
    (void)state;
    for (size_t i = 0; i < sizeof damage / sizeof damage[0]; i++) {
        info_init(&info);
        info_u32(&info, damage[i].at, damage[i].value);
        assert_int_equal(find(0x1000), -EINVAL);
    }
}

static void an_encoding_beyond_both_lists_is_refused(void **state) {
    (void)state;
    info_u32(&info, INFO_ENTRIES + 8, 0x03000180);
    assert_int_equal(find(0x1180), -EINVAL);
    expect(0x1100, 0x1100, 0x1180, 0x02001000);
}

static void unreadable_bytes_are_an_error(void **state) {
    (void)state;
    for (info.readable = 0; info.readable < INFO_REGULAR + 24; info.readable++) {
        if (info.readable < INFO_INDEX + 28) { /* the sentinel has an offset only */
            assert_int_equal(open_again(), -EFAULT);
        }
        assert_int_equal(find(0x2040), -EFAULT);
    }
    expect(0x2040, 0x2040, 0x3000, 0);
}

/* Each answer covers its address. */
static void random_damage_is_survived(void **state) {
    (void)state;
    for (unsigned i = 0; i < 200000; i++) {
        info_init(&info);
        for (unsigned n = any(4); n-- > 0;) {
            info.bytes[any(INFO_REGULAR + 24)] = (uint8_t)any(256);
        }
        uint32_t pc = any(0x3100);
        if (open_again() == 0 && find(pc) == 0) {
            assert_true(INFO_TEXT + pc >= entry.start && INFO_TEXT + pc < entry.stop);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(each_address_has_its_entry, set_up),
        cmocka_unit_test_setup(addresses_outside_have_none, set_up),
        cmocka_unit_test_setup(an_image_without_the_section_has_no_table, set_up),
        cmocka_unit_test_setup(a_page_without_entries_covers_nothing, set_up),
        cmocka_unit_test_setup(a_damaged_header_is_refused, set_up),
        cmocka_unit_test_setup(an_unsorted_page_is_refused, set_up),
        cmocka_unit_test_setup(a_damaged_page_is_refused, set_up),
        cmocka_unit_test_setup(an_encoding_beyond_both_lists_is_refused, set_up),
        cmocka_unit_test_setup(unreadable_bytes_are_an_error, set_up),
        cmocka_unit_test_setup(random_damage_is_survived, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
