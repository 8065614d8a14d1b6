/* SPDX-License-Identifier: MIT
 *
 * Whether macOS inserts a library into a program: images that the test writes, with signatures of all kinds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "image/macho/insertable.h"
#include "macho_image.h"

#define ALLOW "<key>com.apple.security.cs.allow-dyld-environment-variables</key>"
#define LIBRARIES "<key>com.apple.security.cs.disable-library-validation</key>"
#define RUNTIME 0x10000u
#define LIBRARY_VALIDATION 0x2000u

static struct macho_image image;
static struct hd_insert_facts facts;

static const struct hd_macho_section text_section[] = {
    {.name = "__text", .segment = "__TEXT", .address = MACHO_IMAGE_VMADDR + 0x1000, .bytes = 0x100},
};

static uint64_t reads;

static int read_file(void *ctx, uint64_t at, void *to, size_t n) {
    const struct macho_image *m = ctx;
    reads++;
    if (at > sizeof m->bytes || n > sizeof m->bytes - at) {
        return -1;
    }
    memcpy(to, m->bytes + at, n);
    return 0;
}

static enum hd_insertable judged_for(uint32_t cpu) {
    struct hd_memory file = {.read = read_file, .ctx = &image};
    return hd_macho_insertable(&file, sizeof image.bytes, cpu, &facts);
}

static enum hd_insertable judged(void) {
    return judged_for(HD_MACHO_CPU_ARM64);
}

static void make(uint32_t subtype) {
    macho_image_init(&image, 0x10000, text_section, 1);
    macho_image_header(&image)->cpu = HD_MACHO_CPU_ARM64;
    macho_image_header(&image)->cpu_subtype = subtype;
}

static void put(uint8_t **at, uint32_t value) {
    const uint8_t bytes[4] = {(uint8_t)(value >> 24), (uint8_t)(value >> 16), (uint8_t)(value >> 8),
                              (uint8_t)value};
    memcpy(*at, bytes, sizeof bytes);
    *at += sizeof bytes;
}

/* A signature with a code directory, and with entitlements if there is a text. */
static void sign(uint32_t flags, const char *text) {
    static uint8_t bytes[4096];
    uint32_t n = text != NULL ? (uint32_t)strlen(text) : 0;
    uint8_t *at = bytes;
    put(&at, 0xfade0cc0);
    put(&at, 28 + 44 + 8 + n);
    put(&at, text != NULL ? 2 : 1);
    put(&at, 0);
    put(&at, 28);
    put(&at, 5);
    put(&at, 28 + 44);
    put(&at, 0xfade0c02);
    put(&at, 44);
    put(&at, 0x20400);
    put(&at, flags);
    at = bytes + 28 + 44;
    put(&at, 0xfade7171);
    put(&at, 8 + n);
    memcpy(at, text != NULL ? text : "", n);
    uint32_t bytes_all = 28 + 44 + 8 + n;
    struct hd_macho_linkedit_data command = {0x1d, sizeof command, 0, bytes_all};
    command.offset = macho_image_table(&image, bytes, bytes_all);
    macho_image_command(&image, &command, sizeof command);
}

static void test_a_plain_program_takes_it(void **state) {
    (void)state;
    make(0);
    assert_int_equal(HD_INSERT_FINE, judged());
    assert_false(facts.is_signed);
    sign(2, NULL); /* ad hoc, as the linker signs */
    assert_int_equal(HD_INSERT_FINE, judged());
    assert_true(facts.is_signed);
}

static void test_a_hardened_program_needs_both_entitlements(void **state) {
    (void)state;
    make(0);
    sign(RUNTIME, NULL);
    assert_int_equal(HD_INSERT_HARDENED, judged());
    make(0);
    sign(RUNTIME, "<dict>" ALLOW "\n\t<true/></dict>");
    assert_int_equal(HD_INSERT_VALIDATED, judged());
    make(0);
    sign(RUNTIME, "<dict>" ALLOW "<true/>" LIBRARIES " <true/></dict>");
    assert_int_equal(HD_INSERT_FINE, judged());
    make(0);
    sign(RUNTIME, "<dict>" ALLOW "<false/>" LIBRARIES "<true/></dict>");
    assert_int_equal(HD_INSERT_HARDENED, judged());
    make(0);
    sign(LIBRARY_VALIDATION, NULL);
    assert_int_equal(HD_INSERT_VALIDATED, judged());
}

static void test_a_key_may_lie_anywhere_in_a_long_list(void **state) {
    (void)state;
    static char text[3600];
    for (size_t at = 0; at < 2500; at += 37) {
        memset(text, ' ', sizeof text - 1);
        memcpy(text + at, ALLOW "<true/>" LIBRARIES "<true/>", sizeof ALLOW LIBRARIES + 12);
        make(0);
        sign(RUNTIME, text);
        assert_int_equal(HD_INSERT_FINE, judged());
    }
}

static void test_signed_pointers(void **state) {
    (void)state;
    make(0x80000002);
    assert_int_equal(HD_INSERT_ARM64E, judged());
}

static void test_another_cpu(void **state) {
    (void)state;
    make(0);
    assert_int_equal(HD_INSERT_OTHER_CPU, judged_for(HD_MACHO_CPU_X86_64));
    macho_image_header(&image)->cpu = HD_MACHO_CPU_X86_64;
    assert_int_equal(HD_INSERT_FINE, judged()); /* by Rosetta */
    assert_int_equal(HD_MACHO_CPU_X86_64, facts.slice.cpu);
}

static void test_a_restricted_program(void **state) {
    (void)state;
    struct {
        struct hd_macho_segment segment;
        struct hd_macho_section section;
    } command = {{.command = HD_LC_SEGMENT_64, .bytes = sizeof command, .sections = 1}, {.name = ""}};
    make(0);
    memcpy(command.segment.name, "__RESTRICT", 10);
    macho_image_command(&image, &command, sizeof command);
    assert_int_equal(HD_INSERT_FINE, judged()); /* only the section counts */
    make(0);
    memcpy(command.section.name, "__restrict", 10);
    macho_image_command(&image, &command, sizeof command);
    assert_int_equal(HD_INSERT_RESTRICTED, judged());
    make(0);
    sign(0x800, NULL);
    assert_int_equal(HD_INSERT_RESTRICTED, judged());
}

static void test_what_is_no_program(void **state) {
    (void)state;
    make(0);
    memcpy(image.bytes, "#!/bin/sh\n", 10);
    assert_int_equal(HD_INSERT_NO_PROGRAM, judged());
    assert_int_equal(HD_MACHO_NO_MAGIC, facts.fault);
}

/* Each byte of header and signature in turn gets each of some values. */
static void test_any_damage_is_safe(void **state) {
    (void)state;
    static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
    make(0);
    sign(RUNTIME, "<dict>" ALLOW "<true/></dict>");
    static struct macho_image whole;
    whole = image;
    for (size_t at = 0; at < sizeof image.bytes; at++) {
        for (size_t v = 0; v < sizeof values && (whole.bytes[at] != 0 || at < 1024); v++) {
            image.bytes[at] = values[v];
            assert_in_range(judged(), HD_INSERT_FINE, HD_INSERT_VALIDATED);
        }
        image.bytes[at] = whole.bytes[at];
    }
}

/* Many signatures in many commands: the number of reads stays bounded. */
static void test_a_costly_program(void **state) {
    (void)state;
    static char text[3000];
    memset(text, ' ', sizeof text - 1);
    make(0);
    sign(RUNTIME, text);
    struct hd_macho_linkedit_data again = {0x1d, sizeof again, MACHO_IMAGE_TEXT_BYTES, 28 + 44 + 8 + 2999};
    for (unsigned i = 0; i < 500; i++) {
        macho_image_command(&image, &again, sizeof again);
    }
    reads = 0;
    assert_int_equal(HD_INSERT_HARDENED, judged());
    assert_in_range(reads, 500, 1100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_plain_program_takes_it),
        cmocka_unit_test(test_a_hardened_program_needs_both_entitlements),
        cmocka_unit_test(test_a_key_may_lie_anywhere_in_a_long_list),
        cmocka_unit_test(test_signed_pointers),
        cmocka_unit_test(test_another_cpu),
        cmocka_unit_test(test_a_restricted_program),
        cmocka_unit_test(test_what_is_no_program),
        cmocka_unit_test(test_any_damage_is_safe),
        cmocka_unit_test(test_a_costly_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
