/* SPDX-License-Identifier: MIT
 *
 * The tables of a Mach-O image that the test writes, and of one with each kind of damage.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "image/macho/function_starts.h"
#include "image/macho/macho.h"
#include "macho_image.h"

#define BASE UINT64_C(0x104000000)

static struct macho_image image;
static struct hd_memory memory;
static struct hd_macho_tables tables;

static const struct hd_macho_section sections[] = {
    {.name = "__text", .segment = "__TEXT", .address = MACHO_IMAGE_VMADDR + 0x1000, .bytes = 0x1000},
    {.name = "__stubs", .segment = "__TEXT", .address = MACHO_IMAGE_VMADDR + 0x2000, .bytes = 0x60},
    {.name = "__unwind_info", .segment = "__TEXT", .address = MACHO_IMAGE_VMADDR + 0x3000, .bytes = 0x100},
    {.name = "__eh_frame", .segment = "__TEXT", .address = MACHO_IMAGE_VMADDR + 0x3100, .bytes = 0x80},
};

static void add_starts(const uint8_t *bytes, uint32_t count) {
    struct hd_macho_linkedit_data starts = {.command = HD_LC_FUNCTION_STARTS, .bytes = sizeof starts};
    starts.offset = macho_image_table(&image, bytes, count);
    starts.data_bytes = count;
    macho_image_command(&image, &starts, sizeof starts);
}

static int set_up(void **state) {
    (void)state;
    macho_image_init(&image, BASE, sections, 4);
    memory = macho_image_memory(&image);
    return 0;
}

static int read_tables(void) {
    return hd_macho_tables_read(&memory, BASE, &tables);
}

static void sections_and_the_slide_are_read(void **state) {
    (void)state;
    assert_int_equal(read_tables(), 0);
    assert_true(tables.slide == BASE - MACHO_IMAGE_VMADDR);
    assert_true(tables.text == BASE && tables.text_bytes == MACHO_IMAGE_TEXT_BYTES);
    assert_true(tables.unwind_info == BASE + 0x3000 && tables.unwind_info_bytes == 0x100);
    assert_true(tables.eh_frame == BASE + 0x3100 && tables.eh_frame_bytes == 0x80);
    assert_int_equal(tables.cpu, HD_MACHO_CPU_ARM64);
    assert_int_equal(tables.stub_ranges, 1);
    assert_true(hd_macho_is_stub(&tables, BASE + 0x2000) && hd_macho_is_stub(&tables, BASE + 0x205f));
    assert_false(hd_macho_is_stub(&tables, BASE + 0x1fff) || hd_macho_is_stub(&tables, BASE + 0x2060));
    assert_int_equal(tables.fault, HD_MACHO_FINE);
    assert_false(tables.has_uuid);
}

static void uuid_and_version_are_read(void **state) {
    (void)state;
    uint8_t uuid[24] = {HD_LC_UUID, 0, 0, 0, 24, 0, 0, 0, 1, 2, 3, [23] = 9};
    struct hd_macho_version version = {HD_LC_BUILD_VERSION, 24, HD_PLATFORM_IOS, 15 << 16, 17 << 16};
    uint8_t with_tools[24] = {0};
    memcpy(with_tools, &version, sizeof version);
    macho_image_command(&image, uuid, sizeof uuid);
    macho_image_command(&image, with_tools, sizeof with_tools);
    assert_int_equal(read_tables(), 0);
    assert_true(tables.has_uuid);
    assert_memory_equal(tables.uuid, uuid + 8, 16);
    assert_int_equal(tables.platform, HD_PLATFORM_IOS);
    assert_int_equal(tables.minimum, 15 << 16);
    assert_int_equal(tables.sdk, 17 << 16);
}

static void tables_lie_in_linkedit(void **state) {
    (void)state;
    struct hd_macho_symbol symbols[2] = {{.name = 1}, {.name = 4}};
    struct hd_macho_symtab s = {.command = HD_LC_SYMTAB, .bytes = sizeof s, .symbols = 2, .strings_bytes = 8};
    s.symbols_offset = macho_image_table(&image, symbols, sizeof symbols);
    s.strings_offset = macho_image_table(&image, "\0_a\0_b\0", 8);
    macho_image_command(&image, &s, sizeof s);
    assert_int_equal(read_tables(), 0);
    assert_true(tables.symbols == BASE + MACHO_IMAGE_TEXT_BYTES);
    assert_int_equal(tables.symbol_count, 2);
    assert_true(tables.strings == tables.symbols + sizeof symbols);
    struct hd_macho_dysymtab d = {
        .command = HD_LC_DYSYMTAB, .bytes = 80, .first_external = 1, .externals = 1};
    uint8_t whole[80] = {0};
    memcpy(whole, &d, sizeof d);
    macho_image_command(&image, whole, sizeof whole);
    assert_int_equal(read_tables(), 0);
    assert_true(tables.first_external == 1 && tables.externals == 1 && tables.fault == HD_MACHO_FINE);
    d.externals = 2;
    memcpy(whole, &d, sizeof d);
    macho_image_command(&image, whole, sizeof whole);
    assert_int_equal(read_tables(), 0);
    assert_true(tables.externals == 0 && tables.fault == HD_MACHO_TABLE_OUTSIDE);
    /* Another number of symbols than the segment has room for: no symbols, and the reason. */
    set_up(NULL);
    s.symbols = 0x10000000;
    macho_image_command(&image, &s, sizeof s);
    assert_int_equal(read_tables(), 0);
    assert_true(tables.symbols == 0 && tables.symbol_count == 0 && tables.strings == 0);
    assert_int_equal(tables.fault, HD_MACHO_TABLE_OUTSIDE);
}

static void function_starts_are_found(void **state) {
    (void)state;
    static const uint8_t bytes[] = {0x80, 0x20, 0x10, 0x04, 0, 0}; /* 0x1000, 0x1010, 0x1014 */
    struct hd_function_starts s;
    uint64_t start = 0, end = 0;
    add_starts(bytes, sizeof bytes);
    assert_int_equal(read_tables(), 0);
    hd_function_starts_init(&s, &tables);
    assert_true(hd_function_starts_next(&s, &memory) && s.start == BASE + 0x1000);
    assert_true(hd_function_starts_next(&s, &memory) && s.start == BASE + 0x1010);
    assert_true(hd_function_starts_next(&s, &memory) && s.start == BASE + 0x1014);
    assert_false(hd_function_starts_next(&s, &memory));
    static const struct {
        uint64_t pc, start, end;
    } cases[] = {{0x1000, 0x1000, 0x1010},
                 {0x100f, 0x1000, 0x1010},
                 {0x1010, 0x1010, 0x1014},
                 {0x3fff, 0x1014, MACHO_IMAGE_TEXT_BYTES}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hd_function_starts_init(&s, &tables);
        assert_true(hd_function_starts_find(&s, &memory, BASE + cases[i].pc, &start, &end));
        assert_true(start == BASE + cases[i].start && end == BASE + cases[i].end);
    }
    hd_function_starts_init(&s, &tables);
    assert_false(hd_function_starts_find(&s, &memory, BASE + 0xfff, &start, &end));
    assert_true(end == BASE + 0x1000);
}

/* A list over more than one piece, and one that ends inside of an entry. */
static void long_and_broken_lists_end(void **state) {
    (void)state;
    uint8_t bytes[1001];
    struct hd_function_starts s;
    uint64_t start = 0, end = 0;
    memset(bytes, 0x04, sizeof bytes);
    bytes[1000] = 0x80;
    add_starts(bytes, sizeof bytes);
    assert_int_equal(read_tables(), 0);
    hd_function_starts_init(&s, &tables);
    assert_true(hd_function_starts_find(&s, &memory, BASE + 4 * 700 + 3, &start, &end));
    assert_true(start == BASE + 4 * 700 && end == start + 4);
    assert_true(hd_function_starts_find(&s, &memory, BASE + MACHO_IMAGE_TEXT_BYTES, &start, &end));
    assert_true(start == BASE + 4 * 1000 && end == BASE + MACHO_IMAGE_TEXT_BYTES);
    image.unreadable = BASE + MACHO_IMAGE_TEXT_BYTES + 300;
    hd_function_starts_init(&s, &tables);
    assert_true(hd_function_starts_find(&s, &memory, UINT64_MAX, &start, &end));
    assert_true(start == BASE + 4 * 300);
}

/* Entries of two bytes, some of which lie across two pieces; and a list whose end cannot be read. */
static void entries_may_lie_across_pieces(void **state) {
    (void)state;
    uint8_t bytes[601] = {4};
    struct hd_function_starts s, all;
    uint64_t start = 0, end = 0;
    for (size_t i = 1; i < sizeof bytes; i += 2) {
        bytes[i] = 0x84;
    }
    add_starts(bytes, sizeof bytes);
    assert_int_equal(read_tables(), 0);
    hd_function_starts_init(&s, &tables);
    assert_true(hd_function_starts_find(&s, &memory, UINT64_MAX, &start, &end));
    assert_true(start == BASE + 4 * 301);
    for (uint32_t cut = 1; cut < sizeof bytes; cut++) {
        image.unreadable = BASE + MACHO_IMAGE_TEXT_BYTES + cut;
        hd_function_starts_init(&all, &tables);
        while (hd_function_starts_next(&all, &memory)) {
        }
        hd_function_starts_init(&s, &tables);
        assert_true(hd_function_starts_find(&s, &memory, UINT64_MAX, &start, &end));
        assert_true(start == all.start && start == BASE + 4 * (1 + (cut - 1) / 2));
    }
}

static void fails_with(int rc, unsigned fault) {
    assert_int_equal(read_tables(), rc);
    assert_int_equal(tables.fault, fault);
    assert_true(strlen(hd_macho_fault_text(fault)) > 5);
    assert_true(tables.unwind_info == 0 && tables.stub_ranges == 0);
}

static void each_damage_has_its_name(void **state) {
    (void)state;
    struct hd_macho_header *header = macho_image_header(&image);
    struct hd_macho_segment *zero = (struct hd_macho_segment *)(void *)(image.bytes + sizeof *header);
    struct hd_macho_segment *text = zero + 1;
    assert_int_equal(hd_macho_tables_read(&memory, BASE - 8, &tables), -EFAULT);
    image.unreadable = BASE + sizeof *header + 8;
    fails_with(-EFAULT, HD_MACHO_UNREADABLE);
    image.unreadable = BASE + sizeof *header + 2 * sizeof *zero + 8;
    fails_with(-EFAULT, HD_MACHO_UNREADABLE);
    image.unreadable = 0;
    header->magic = 0xfeedface;
    fails_with(-EINVAL, HD_MACHO_NARROW);
    header->magic = 0xcffaedfe;
    fails_with(-EINVAL, HD_MACHO_BIG_ENDIAN);
    header->magic = 0x464c457f;
    fails_with(-EINVAL, HD_MACHO_NO_MAGIC);
    set_up(NULL);
    header->commands = 5000;
    fails_with(-EINVAL, HD_MACHO_MANY_COMMANDS);
    header->commands = 4;
    fails_with(-EINVAL, HD_MACHO_COMMAND_SIZE);
    set_up(NULL);
    zero->bytes = 4;
    fails_with(-EINVAL, HD_MACHO_COMMAND_SIZE);
    set_up(NULL);
    text->sections = 5;
    fails_with(-EINVAL, HD_MACHO_SEGMENT_RANGE);
    set_up(NULL);
    text->memory_bytes = UINT64_MAX - BASE + 2;
    fails_with(-EINVAL, HD_MACHO_SEGMENT_RANGE);
    set_up(NULL);
    text->address = UINT64_MAX;
    fails_with(-EINVAL, HD_MACHO_SEGMENT_RANGE);
    set_up(NULL);
    header->commands_bytes = UINT32_MAX;
    fails_with(-EINVAL, HD_MACHO_MANY_COMMANDS);
    set_up(NULL);
    header->commands_bytes -= 8; /* the last command reaches over the end */
    fails_with(-EINVAL, HD_MACHO_COMMAND_SIZE);
    set_up(NULL);
    text->name[2] = 'X';
    fails_with(-EINVAL, HD_MACHO_NO_TEXT);
    assert_string_equal(hd_macho_fault_text(77), "an unknown fault");
}

static void a_section_outside_is_left_out(void **state) {
    (void)state;
    struct hd_macho_section bad[2] = {sections[2], sections[3]};
    bad[0].bytes = MACHO_IMAGE_TEXT_BYTES;
    macho_image_init(&image, BASE, bad, 2);
    assert_int_equal(read_tables(), 0);
    assert_true(tables.unwind_info == 0 && tables.eh_frame != 0);
    assert_int_equal(tables.fault, HD_MACHO_SECTION_OUTSIDE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(sections_and_the_slide_are_read, set_up),
        cmocka_unit_test_setup(uuid_and_version_are_read, set_up),
        cmocka_unit_test_setup(tables_lie_in_linkedit, set_up),
        cmocka_unit_test_setup(function_starts_are_found, set_up),
        cmocka_unit_test_setup(long_and_broken_lists_end, set_up),
        cmocka_unit_test_setup(entries_may_lie_across_pieces, set_up),
        cmocka_unit_test_setup(each_damage_has_its_name, set_up),
        cmocka_unit_test_setup(a_section_outside_is_left_out, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
