/* SPDX-License-Identifier: MIT
 *
 * Mach-O files that the test writes: thin, fat with both kinds of headers, a dSYM, and a shared cache.
 * Symbols by address and by name.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "image/macho/macho_file.h"
#include "image/macho/shared_cache.h"
#include "image/macho/symbols.h"
#include "macho_image.h"

#define IMAGE_AT 0x4000u /* in a fat file or a shared cache */

static struct macho_image image;
static uint8_t bytes[IMAGE_AT + 2 * MACHO_IMAGE_BYTES];
static struct hd_macho_bytes file_bytes = {bytes, sizeof bytes};
static struct hd_memory memory;
static struct hd_macho_slices slices;
static struct hd_macho_file file;
static struct hd_macho_found found;

static const struct hd_macho_section sections[] = {
    {.name = "__unwind_info", .segment = "__TEXT", .address = MACHO_IMAGE_VMADDR + 0x3000, .bytes = 0x100},
};

static void add_symbols(void) {
    static const char strings[] = "\0_main\0_data\0ltmp0\0_late\0debug";
    const uint64_t text = MACHO_IMAGE_VMADDR;
    struct hd_macho_symbol symbols[] = {
        {.name = 13, .type = HD_MACHO_SYMBOL_IN_SECTION, .section = 1, .value = text + 0x1000},
        {.name = 1, .type = 0xf, .section = 1, .value = text + 0x1000},
        {.name = 24, .type = 0x2e, .section = 1, .value = text + 0x1010},
        {.name = 7, .type = 0xf, .section = 2, .value = text + 0x5000},
        {.name = 19, .type = 0xf, .section = 1, .value = text + 0x1100},
        {.name = 19, .type = 1, .section = 0, .value = 0},
    };
    struct hd_macho_symtab s = {
        .command = HD_LC_SYMTAB, .bytes = sizeof s, .symbols = 6, .strings_bytes = sizeof strings};
    s.symbols_offset = macho_image_table(&image, symbols, sizeof symbols);
    s.strings_offset = macho_image_table(&image, strings, sizeof strings);
    macho_image_command(&image, &s, sizeof s);
}

static int set_up(void **state) {
    (void)state;
    macho_image_init(&image, 0, sections, 1);
    add_symbols();
    memset(bytes, 0, sizeof bytes);
    memcpy(bytes, image.bytes, sizeof image.bytes);
    file_bytes.count = sizeof image.bytes;
    memory = hd_macho_bytes_memory(&file_bytes);
    return 0;
}

static int read_slices(void) {
    return hd_macho_slices_read(&memory, file_bytes.count, &slices);
}

static void opens_slice(uint32_t i) {
    assert_true(i < slices.count);
    assert_int_equal(hd_macho_file_init(&file, &memory, &slices.slice[i]), 0);
    assert_true(file.header == MACHO_IMAGE_VMADDR && file.tables.slide == 0);
    assert_true(file.tables.unwind_info == MACHO_IMAGE_VMADDR + 0x3000);
    assert_int_equal(file.tables.symbol_count, 6);
}

static void a_thin_file_is_one_slice(void **state) {
    (void)state;
    assert_int_equal(read_slices(), 0);
    assert_int_equal(slices.count, 1);
    assert_ptr_equal(hd_macho_slice_of(&slices, HD_MACHO_CPU_ARM64), &slices.slice[0]);
    assert_null(hd_macho_slice_of(&slices, HD_MACHO_CPU_X86_64));
    opens_slice(0);
}

static void symbols_are_found(void **state) {
    (void)state;
    char name[16];
    const uint64_t text = MACHO_IMAGE_VMADDR;
    assert_int_equal(read_slices(), 0);
    opens_slice(0);
    /* Of two at one address the external one, and no debugging entry. */
    assert_true(hd_macho_symbol_at(&file.memory, &file.tables, text + 0x10ff, &found));
    assert_true(found.address == text + 0x1000 && found.external && found.section == 1);
    assert_int_equal(hd_macho_symbol_name(&file.memory, &file.tables, found.name, name, sizeof name), 0);
    assert_string_equal(name, "_main");
    assert_int_equal(hd_macho_symbol_name(&file.memory, &file.tables, found.name, name, 3), 0);
    assert_string_equal(name, "_m");
    assert_int_equal(hd_macho_symbol_name(&file.memory, &file.tables, 4000, name, sizeof name), -EFAULT);
    assert_false(hd_macho_symbol_at(&file.memory, &file.tables, text + 0xfff, &found));
    assert_true(hd_macho_symbol_named(&file.memory, &file.tables, "_late", &found));
    assert_true(found.address == text + 0x1100);
    assert_false(hd_macho_symbol_named(&file.memory, &file.tables, "_lat", &found));
    assert_false(hd_macho_symbol_named(&file.memory, &file.tables, "debug", &found));
}

static void big32(uint8_t *p, uint32_t value) {
    for (int i = 0; i < 4; i++) {
        p[i] = (uint8_t)(value >> (24 - 8 * i));
    }
}

static void fat_entry(uint32_t i, bool wide, uint32_t cpu, uint64_t offset, uint64_t count) {
    uint8_t *p = bytes + 8 + i * (wide ? 32 : 20);
    big32(p, cpu);
    if (wide) {
        big32(p + 8, (uint32_t)(offset >> 32));
        big32(p + 12, (uint32_t)offset);
        big32(p + 16, (uint32_t)(count >> 32));
        big32(p + 20, (uint32_t)count);
        return;
    }
    big32(p + 8, (uint32_t)offset);
    big32(p + 12, (uint32_t)count);
}

static void make_fat(bool wide) {
    memset(bytes, 0, sizeof bytes);
    big32(bytes, wide ? 0xcafebabf : 0xcafebabe);
    big32(bytes + 4, 2);
    fat_entry(0, wide, HD_MACHO_CPU_X86_64, IMAGE_AT, sizeof image.bytes);
    fat_entry(1, wide, HD_MACHO_CPU_ARM64, IMAGE_AT + sizeof image.bytes, sizeof image.bytes);
    memcpy(bytes + IMAGE_AT, image.bytes, sizeof image.bytes);
    memcpy(bytes + IMAGE_AT + sizeof image.bytes, image.bytes, sizeof image.bytes);
    file_bytes.count = sizeof bytes;
}

static void fat_files_have_a_slice_for_each_cpu(void **state) {
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        make_fat(wide);
        assert_int_equal(read_slices(), 0);
        assert_int_equal(slices.count, 2);
        assert_ptr_equal(hd_macho_slice_of(&slices, HD_MACHO_CPU_ARM64), &slices.slice[1]);
        opens_slice(0);
        opens_slice(1);
        assert_true(hd_macho_symbol_named(&file.memory, &file.tables, "_main", &found));
        /* A slice that reaches over the end is left out. */
        fat_entry(1, wide, HD_MACHO_CPU_ARM64, IMAGE_AT + sizeof image.bytes, sizeof image.bytes + 1);
        assert_int_equal(read_slices(), 0);
        assert_int_equal(slices.count, 1);
        assert_int_equal(slices.fault, HD_MACHO_SLICE_OUTSIDE);
        fat_entry(0, wide, HD_MACHO_CPU_X86_64, UINT32_MAX, 100);
        assert_int_equal(read_slices(), -EINVAL);
        assert_int_equal(slices.fault, HD_MACHO_SLICE_OUTSIDE);
    }
    file_bytes.count = 16;
    assert_int_equal(read_slices(), -EINVAL);
}

static void other_files_are_none(void **state) {
    (void)state;
    static const uint8_t elf[] = {0x7f, 'E', 'L', 'F'};
    memcpy(bytes, elf, sizeof elf);
    assert_int_equal(read_slices(), -EINVAL);
    assert_int_equal(slices.fault, HD_MACHO_NO_MAGIC);
    static const uint8_t java[] = {0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 52, 0, 9, 1};
    memset(bytes, 0xff, sizeof bytes);
    memcpy(bytes, java, sizeof java);
    assert_int_equal(read_slices(), -EINVAL);
    assert_int_equal(slices.fault, HD_MACHO_SLICE_OUTSIDE);
}

/* In a dSYM __TEXT has its addresses and none of its bytes. */
static void the_header_of_a_dsym_is_readable(void **state) {
    (void)state;
    struct hd_macho_segment *text =
        (struct hd_macho_segment *)(void *)(bytes + sizeof(struct hd_macho_header)) + 1;
    assert_string_equal(text->name, "__TEXT");
    text->file_bytes = 0;
    assert_int_equal(read_slices(), 0);
    opens_slice(0);
    uint8_t byte = 0;
    assert_false(hd_memory_read(&file.memory, MACHO_IMAGE_VMADDR + 0x3000, &byte, 1));
}

/* What the file ends before is zero, and what no segment has is not readable. */
static void a_cut_file_fails_with_a_name(void **state) {
    (void)state;
    assert_int_equal(read_slices(), 0);
    for (uint32_t cut = 0; cut < sizeof image.bytes; cut += cut < 0x400 ? 1 : 64) {
        struct hd_macho_slice slice = slices.slice[0];
        slice.bytes = cut;
        int rc = hd_macho_file_init(&file, &memory, &slice);
        assert_true(rc == 0 || file.fault != HD_MACHO_FINE);
        (void)hd_macho_symbol_named(&file.memory, &file.tables, "_late", &found);
    }
    uint8_t byte = 1;
    assert_int_equal(hd_macho_file_init(&file, &memory, &slices.slice[0]), 0);
    assert_false(hd_memory_read(&file.memory, MACHO_IMAGE_VMADDR - 1, &byte, 1));
    assert_false(hd_memory_read(&file.memory, MACHO_IMAGE_VMADDR + MACHO_IMAGE_BYTES, &byte, 1));
}

/* ---- a shared cache ------------------------------------------------------------------------------ */

#define CACHE_BASE UINT64_C(0x180000000)
#define PATH "/usr/lib/libobjc.A.dylib"

struct cache {
    char magic[16];
    uint32_t mappings_offset, mappings, old_images_offset, old_images;
    uint8_t unused[56];
    uint8_t uuid[16];
    uint8_t more[0x158];
    uint32_t images_offset, images;
    struct {
        uint64_t address, bytes, offset;
        uint32_t protection[2];
    } mapping[2];
    struct {
        uint64_t address, time, inode;
        uint32_t path, pad;
    } image[2];
    char path[64];
};

static struct hd_shared_cache cache;
static struct hd_shared_cache_image one;

static struct cache *make_cache(void) {
    struct cache *c = (struct cache *)(void *)bytes;
    memset(bytes, 0, sizeof bytes);
    memcpy(c->magic, "dyld_v1  arm64e", 16);
    c->uuid[0] = 5;
    c->mappings_offset = offsetof(struct cache, mapping);
    c->mappings = 1;
    c->images_offset = offsetof(struct cache, image);
    c->images = 2;
    c->mapping[0].address = CACHE_BASE;
    c->mapping[0].bytes = c->mapping[0].offset = IMAGE_AT;
    c->mapping[0].bytes = MACHO_IMAGE_BYTES;
    c->image[0].address = CACHE_BASE + 0x100000; /* in another file */
    c->image[1].address = CACHE_BASE;
    c->image[0].path = c->image[1].path = offsetof(struct cache, path);
    c->image[0].path += sizeof PATH;
    memcpy(c->path, PATH "\0/usr/lib/other", sizeof PATH + 15);
    memcpy(bytes + IMAGE_AT, image.bytes, sizeof image.bytes);
    /* The commands of an image of a cache have its addresses there. */
    struct hd_macho_segment *s =
        (struct hd_macho_segment *)(void *)(bytes + IMAGE_AT + sizeof(struct hd_macho_header));
    s[1].address = CACHE_BASE;
    s[1].offset = IMAGE_AT;
    ((struct hd_macho_section *)(void *)&s[2])->address = CACHE_BASE + 0x3000;
    file_bytes.count = sizeof bytes;
    return c;
}

static void images_of_a_shared_cache_are_found(void **state) {
    (void)state;
    struct cache *c = make_cache();
    struct hd_macho_tables tables;
    assert_int_equal(hd_shared_cache_init(&cache, &memory, file_bytes.count), 0);
    assert_int_equal(cache.count, 2);
    assert_string_equal(cache.cpu, "arm64e");
    assert_int_equal(cache.uuid[0], 5);
    assert_true(hd_shared_cache_named(&cache, PATH, &one) && one.header == CACHE_BASE);
    assert_false(hd_shared_cache_named(&cache, "/usr/lib/none", &one));
    assert_int_equal(hd_macho_tables_read(&cache.memory, CACHE_BASE, &tables), 0);
    assert_true(tables.slide == 0 && tables.unwind_info == CACHE_BASE + 0x3000);
    assert_true(hd_shared_cache_at(&cache, CACHE_BASE + 0x3fff, &one));
    assert_string_equal(one.path, PATH);
    assert_false(hd_shared_cache_at(&cache, CACHE_BASE + MACHO_IMAGE_TEXT_BYTES, &one));
    assert_false(hd_shared_cache_at(&cache, CACHE_BASE - 1, &one));
    /* The header of the other image comes with the further file. */
    assert_false(hd_shared_cache_at(&cache, CACHE_BASE + 0x100010, &one));
    static struct cache more;
    static struct hd_macho_bytes more_bytes;
    more = *c;
    more.mapping[0].address = CACHE_BASE + 0x100000;
    more.mapping[0].bytes = 64;
    more.mapping[0].offset = 0;
    more_bytes = (struct hd_macho_bytes){(const uint8_t *)&more, sizeof more};
    struct hd_memory further = hd_macho_bytes_memory(&more_bytes);
    assert_int_equal(hd_shared_cache_add(&cache, &further, sizeof more), 0);
    uint8_t start[6];
    assert_true(hd_memory_read(&cache.memory, CACHE_BASE + 0x100000, start, sizeof start));
    assert_memory_equal(start, "dyld_v", sizeof start);
}

static void older_caches_have_their_list_elsewhere(void **state) {
    (void)state;
    struct cache *c = make_cache();
    c->old_images_offset = c->images_offset;
    c->old_images = 2;
    c->images = 0;
    memcpy(bytes + 0x98, &c->mapping[0], sizeof c->mapping[0]);
    c->mappings_offset = 0x98;
    assert_int_equal(hd_shared_cache_init(&cache, &memory, file_bytes.count), 0);
    assert_true(hd_shared_cache_named(&cache, PATH, &one) && one.header == CACHE_BASE);
}

static void cache_fails(unsigned fault) {
    assert_int_equal(hd_shared_cache_init(&cache, &memory, file_bytes.count), hd_macho_fault_errno(fault));
    assert_int_equal(cache.fault, fault);
}

static void a_hostile_cache_fails_with_a_name(void **state) {
    (void)state;
    make_cache()->magic[0] = 'x';
    cache_fails(HD_MACHO_NO_CACHE);
    make_cache()->mapping[0].bytes = sizeof bytes;
    cache_fails(HD_MACHO_MAPPING_OUTSIDE);
    make_cache()->mapping[0].offset = UINT64_MAX - 8;
    cache_fails(HD_MACHO_MAPPING_OUTSIDE);
    make_cache()->mapping[0].address = UINT64_MAX;
    cache_fails(HD_MACHO_MAPPING_OUTSIDE);
    make_cache()->images = 1u << 20;
    cache_fails(HD_MACHO_IMAGES_OUTSIDE);
    make_cache()->images_offset = UINT32_MAX;
    cache_fails(HD_MACHO_IMAGES_OUTSIDE);
    make_cache()->mappings_offset = UINT32_MAX;
    cache_fails(HD_MACHO_UNREADABLE);
    struct cache *c = make_cache();
    c->mappings_offset = 0x1c8;
    c->mappings = 200;
    memset(bytes + 0x1c8, 0, 200 * 32);
    cache_fails(HD_MACHO_MANY_MAPPINGS);
    make_cache()->image[1].path = UINT32_MAX;
    assert_int_equal(hd_shared_cache_init(&cache, &memory, file_bytes.count), 0);
    assert_false(hd_shared_cache_image(&cache, 1, &one) || hd_shared_cache_image(&cache, 2, &one));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_thin_file_is_one_slice, set_up),
        cmocka_unit_test_setup(symbols_are_found, set_up),
        cmocka_unit_test_setup(fat_files_have_a_slice_for_each_cpu, set_up),
        cmocka_unit_test_setup(other_files_are_none, set_up),
        cmocka_unit_test_setup(the_header_of_a_dsym_is_readable, set_up),
        cmocka_unit_test_setup(a_cut_file_fails_with_a_name, set_up),
        cmocka_unit_test_setup(images_of_a_shared_cache_are_found, set_up),
        cmocka_unit_test_setup(older_caches_have_their_list_elsewhere, set_up),
        cmocka_unit_test_setup(a_hostile_cache_fails_with_a_name, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
