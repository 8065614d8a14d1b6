/* SPDX-License-Identifier: MIT
 *
 * Walks through a made-up Mach-O image of this CPU: functions, the end of the walk, callers that the tables
 * cannot describe, tables that change.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "macho_image.h"
#include "unwind/arch/arch.h"
#include "unwind/unwind.h"
#include "unwind_info.h"

#define BASE UINT64_C(0x104000000)
#define TOP UINT64_C(0x170001000)
#define STACK_BYTES 0x1000u
#define FRAMES 16u
#define IS_ARM (HD_ARCH_MACHO_CPU == HD_MACHO_CPU_ARM64)
#define FRAME_ENCODING (IS_ARM ? 0x04000000u : 0x01000000u)

static struct macho_image image;
static struct unwind_info info;
static struct hd_modules modules;
static uint64_t unwinder[1 << 17];
static uint64_t words[STACK_BYTES / 8];
static struct hd_frame frames[FRAMES];
static struct hd_walk walk;
static struct hd_regs regs;

static int find_module(struct hd_modules *m, uint64_t pc, struct hd_module *out, char *path, size_t bytes) {
    (void)m;
    if (pc < BASE || pc >= BASE + MACHO_IMAGE_TEXT_BYTES) {
        return -ENOENT;
    }
    memset(out, 0, sizeof *out);
    if (path != NULL && bytes > 0) {
        path[0] = 0;
    }
    out->format = HD_IMAGE_MACHO;
    out->lo = out->header = BASE;
    out->hi = BASE + MACHO_IMAGE_TEXT_BYTES;
    return 0;
}

static struct hd_unwinder *u(void) {
    return (struct hd_unwinder *)(void *)unwinder;
}

static void put(uint64_t address, uint64_t value) {
    words[(address - (TOP - STACK_BYTES)) / 8] = value;
}

/* A frame record at `at`. */
static void put_record(uint64_t at, uint64_t fp, uint64_t ra) {
    put(at, fp);
    put(at + 8, ra);
}

/* A call that returns to `offset`. */
static void put_call(uint32_t offset) {
    uint32_t bl = 0x94000001;
    if (IS_ARM) {
        memcpy(image.bytes + offset - 4, &bl, 4);
    } else {
        image.bytes[offset - 5] = 0xe8;
    }
}

/* Functions start at 0x1000, 0x1040, 0x1100 (frameless on arm64) and 0x2000. All have a frame at pc 0x1020.
 */
static int set_up(void **state) {
    static const struct hd_macho_section sections[] = {
        {.name = "__text", .segment = "__TEXT", .address = MACHO_IMAGE_VMADDR + 0x1000, .bytes = 0x2000},
        {.name = "__unwind_info",
         .segment = "__TEXT",
         .address = MACHO_IMAGE_VMADDR + 0x3000,
         .bytes = INFO_BYTES},
    };
    static const uint8_t starts[] = {0x80, 0x20, 0x40, 0xc0, 0x01, 0x80, 0x1e, 0};
    struct hd_macho_linkedit_data list = {.command = HD_LC_FUNCTION_STARTS, .bytes = sizeof list};
    (void)state;
    macho_image_init(&image, BASE, sections, 2);
    macho_image_header(&image)->cpu = HD_ARCH_MACHO_CPU;
    list.offset = macho_image_table(&image, starts, sizeof starts);
    list.data_bytes = sizeof starts;
    macho_image_command(&image, &list, sizeof list);
    info_init(&info);
    info_u32(&info, INFO_COMMON, FRAME_ENCODING);
    info_u32(&info, INFO_COMMON + 4, IS_ARM ? 0x02001000 : FRAME_ENCODING);
    info_u32(&info, INFO_REGULAR + 12, FRAME_ENCODING);
    memcpy(image.bytes + 0x3000, info.bytes, INFO_BYTES);
    memset(&modules, 0, sizeof modules);
    modules.memory = macho_image_memory(&image);
    modules.find = find_module;
    assert_true(hd_unwinder_bytes_macho() <= sizeof unwinder);
    hd_unwinder_init_macho(u(), &modules);
    memset(words, 0, sizeof words);
    memset(image.bytes + 0x1000, IS_ARM ? 0 : 0x06, 0x2000); /* no instruction that is known */
    put_call(0x1050);
    regs = (struct hd_regs){.pc = BASE + 0x1020, .sp = TOP - 0x800, .valid = UINT64_C(0x7fffffff)};
    regs.r[HD_ARCH_FP] = TOP - 0x700;
    return 0;
}

static void unwind(void) {
    hd_unwind(u(), &regs, (const uint8_t *)words, TOP - STACK_BYTES, STACK_BYTES, 0, frames, FRAMES, &walk);
}

static void expect_frame(unsigned i, uint64_t pc, uint64_t start) {
    assert_true(walk.count > i && frames[i].pc == BASE + pc && frames[i].start == BASE + start);
}

/* Two functions share an entry; each frame has its own function's start. */
static void frames_have_their_functions(void **state) {
    (void)state;
    put_record(TOP - 0x700, TOP - 0x600, BASE + 0x1050);
    put_record(TOP - 0x600, TOP - 0x500, BASE + 0x2010);
    put_record(TOP - 0x500, 0, 0);
    for (unsigned again = 0; again < 2; again++) {
        unwind();
        assert_true(walk.count == 3 && walk.stop == HD_STOP_ROOT);
        expect_frame(0, 0x1020, 0x1000);
        expect_frame(1, 0x1050, 0x1040);
        expect_frame(2, 0x2010, 0x2000);
        assert_int_equal(frames[1].at, STACK_BYTES - 0x700 + 16);
    }
}

static void a_low_return_address_ends_the_walk(void **state) {
    (void)state;
    put_record(TOP - 0x700, TOP - 0x600, BASE + 0x1050);
    put_record(TOP - 0x600, TOP - 0x500, 0xfff);
    unwind();
    assert_true(walk.count == 2 && walk.stop == HD_STOP_ROOT);
}

/* A frame pointer of 0 that a frame restored: its owner is the outermost function. */
static void a_restored_frame_pointer_of_0_ends_the_walk(void **state) {
    (void)state;
    put_record(TOP - 0x700, 0, BASE + 0x1050);
    unwind();
    assert_true(walk.count == 2 && walk.stop == HD_STOP_ROOT && walk.root == BASE + 0x1040);
}

static void a_caller_without_a_frame_is_left_by_its_record(void **state) {
    (void)state;
    put_record(TOP - 0x700, TOP - 0x600, BASE + 0x1110); /* on arm64 its rule needs x30, which is lost */
    put_record(TOP - 0x600, TOP - 0x500, BASE + 0x2010);
    put_record(TOP - 0x500, 0, 0);
    unwind();
    assert_int_equal(walk.count, 3);
    expect_frame(1, 0x1110, 0x1100);
    expect_frame(2, 0x2010, 0x2000);
}

/* Without an entry the frame record leads on. */
static void code_without_an_entry_has_frame_records(void **state) {
    (void)state;
    put_record(TOP - 0x700, TOP - 0x600, BASE + 0x2050);
    put_record(TOP - 0x600, TOP - 0x500, BASE + 0x1050);
    put_record(TOP - 0x500, 0, 0);
    unwind();
    assert_int_equal(walk.count, 3);
    expect_frame(1, 0x2050, 0x2000);
    expect_frame(2, 0x1050, 0x1040);
    assert_int_equal(frames[2].trust, HD_TRUST_FRAME_POINTER);
}

static void an_unsorted_page_is_not_believed(void **state) {
    (void)state;
    put_record(TOP - 0x700, TOP - 0x600, BASE + 0x1050);
    put_record(TOP - 0x600, 0, 0);
    uint32_t entry = 0x01000181;
    memcpy(image.bytes + 0x3000 + INFO_ENTRIES + 4, &entry, 4);
    unwind();
    assert_int_equal(walk.count, 2);
    assert_int_equal(frames[1].trust, HD_TRUST_FRAME_POINTER);
}

static void a_flush_forgets_the_tables(void **state) {
    uint32_t null = 0;
    (void)state;
    put_record(TOP - 0x700, TOP - 0x600, BASE + 0x1050);
    put_record(TOP - 0x600, 0, 0);
    unwind();
    assert_int_equal(frames[1].trust, HD_TRUST_CFI);
    memcpy(image.bytes + 0x3000 + INFO_COMMON, &null, 4); /* another image lies there now */
    hd_unwinder_flush(u());
    unwind();
    assert_int_equal(walk.count, 2);
    assert_int_equal(frames[1].trust, HD_TRUST_FRAME_POINTER);
}

static void an_image_of_another_cpu_has_no_rules(void **state) {
    (void)state;
    macho_image_header(&image)->cpu = IS_ARM ? HD_MACHO_CPU_X86_64 : HD_MACHO_CPU_ARM64;
    put_record(TOP - 0x700, TOP - 0x600, BASE + 0x1050);
    unwind();
    assert_true(walk.count >= 1 && frames[0].start == 0);
}

#if defined(__aarch64__)
/* Swift's mark in the saved frame pointer, and an authentication code in the return address. */
static void marks_above_addresses_are_removed(void **state) {
    (void)state;
    regs.r[29] |= UINT64_C(1) << 60;
    put_record(TOP - 0x700, (TOP - 0x600) | UINT64_C(1) << 60, (BASE + 0x1050) | UINT64_C(0x2a5a) << 48);
    put_record(TOP - 0x600, 0, 0);
    unwind();
    assert_true(walk.count == 2 && walk.stop == HD_STOP_ROOT);
    expect_frame(1, 0x1050, 0x1040);
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(frames_have_their_functions, set_up),
        cmocka_unit_test_setup(a_low_return_address_ends_the_walk, set_up),
        cmocka_unit_test_setup(a_restored_frame_pointer_of_0_ends_the_walk, set_up),
        cmocka_unit_test_setup(a_caller_without_a_frame_is_left_by_its_record, set_up),
        cmocka_unit_test_setup(code_without_an_entry_has_frame_records, set_up),
        cmocka_unit_test_setup(an_unsorted_page_is_not_believed, set_up),
        cmocka_unit_test_setup(a_flush_forgets_the_tables, set_up),
        cmocka_unit_test_setup(an_image_of_another_cpu_has_no_rules, set_up),
#if defined(__aarch64__)
        cmocka_unit_test_setup(marks_above_addresses_are_removed, set_up),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
