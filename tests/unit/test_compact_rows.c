/* SPDX-License-Identifier: MIT
 *
 * Rows of compact encodings of both CPUs. Every encoding is tried with random bits: a row or an error.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "unwind/macho/compact.h"

#define CODE UINT64_C(0x104001000)

static struct hd_row row;

/* Each word of memory is its distance from CODE. */
static int read_distance(void *ctx, uint64_t addr, void *dst, size_t n) {
    uint32_t word = (uint32_t)(addr - CODE);
    (void)ctx;
    if (addr < CODE || addr >= CODE + 0x80 || n != 4) {
        return -EFAULT;
    }
    memcpy(dst, &word, 4);
    return 0;
}

static const struct hd_memory memory = {.read = read_distance};

static int decode(uint32_t cpu, uint32_t encoding) {
    struct hd_compact_entry entry = {.start = CODE, .stop = CODE + 0x100, .encoding = encoding};
    return hd_compact_row(&memory, cpu, &entry, &row);
}

static int intel(uint32_t encoding) {
    return decode(HD_MACHO_CPU_X86_64, encoding);
}

static int arm(uint32_t encoding) {
    return decode(HD_MACHO_CPU_ARM64, encoding);
}

static void expect_cfa(uint32_t reg, int64_t offset) {
    assert_true(row.cfa_known && !row.cfa_expression);
    assert_int_equal(row.cfa_register, reg);
    assert_int_equal(row.cfa_offset, offset);
}

static void expect_saved(uint32_t reg, int64_t offset) {
    assert_int_equal(row.reg[reg].how, HD_HOW_OFFSET);
    assert_int_equal(row.reg[reg].value, offset);
}

static unsigned count_saved(void) {
    unsigned n = 0;
    for (unsigned i = 0; i < HD_REGS_MAX; i++) {
        n += row.reg[i].how != HD_HOW_UNSPECIFIED;
    }
    return n;
}

static void intel_frame(void **state) {
    (void)state;
    assert_int_equal(intel(0x01000000), HD_COMPACT_FRAME);
    expect_cfa(6, 16);
    expect_saved(16, -8);
    expect_saved(6, -16);
    assert_int_equal(count_saved(), 2);
    /* five words below rbp: rbx, a gap, r14, r15, a gap */
    assert_int_equal(intel(0x01050000 | 1 | 4 << 6 | 5 << 9), HD_COMPACT_FRAME);
    expect_saved(3, -16 - 40);
    expect_saved(14, -16 - 24);
    expect_saved(15, -16 - 16);
    assert_int_equal(count_saved(), 5);
    assert_int_equal(intel(0x01050000 | 6), -EINVAL);
    assert_int_equal(intel(0x01010000 | 1 << 3), -EINVAL); /* at rbp itself */
}

static void intel_frameless(void **state) {
    (void)state;
    assert_int_equal(intel(0x02010000), HD_COMPACT_FRAMELESS);
    expect_cfa(7, 8); /* the size has the return address */
    expect_saved(16, -8);
    assert_int_equal(count_saved(), 1);
    /* two registers, r15 (name 5) below rbx (name 1): digits 4 and 0 of bases 6 and 5 */
    assert_int_equal(intel(0x02050000 | 2 << 10 | 4 * 5), HD_COMPACT_FRAMELESS);
    expect_cfa(7, 40);
    expect_saved(15, -24);
    expect_saved(3, -16);
    /* six in the order rbp, r15, r14, r13, r12, rbx: each digit has its highest value */
    assert_int_equal(intel(0x02070000 | 6 << 10 | 719), HD_COMPACT_FRAMELESS);
    expect_saved(6, -56);
    expect_saved(15, -48);
    expect_saved(14, -40);
    expect_saved(13, -32);
    expect_saved(12, -24);
    expect_saved(3, -16);
    assert_int_equal(intel(0x02070000 | 6 << 10 | 720), -EINVAL);
    assert_int_equal(intel(0x02070000 | 7 << 10), -EINVAL);
    assert_int_equal(intel(0x02020000 | 2 << 10), -EINVAL); /* more registers than the size has words */
}

static void intel_large(void **state) {
    (void)state;
    /* the immediate is 16 bytes behind the start, and there the word is 16; three more words were pushed */
    assert_int_equal(intel(0x03100000 | 3 << 13 | 1 << 10 | 0), HD_COMPACT_FRAMELESS);
    expect_cfa(7, 16 + 24);
    expect_saved(3, -16);
    assert_int_equal(intel(0x03800000), -EFAULT);
}

static void arm_frame(void **state) {
    (void)state;
    assert_int_equal(arm(0x04000000), HD_COMPACT_FRAME);
    expect_cfa(29, 16);
    expect_saved(29, -16);
    expect_saved(30, -8);
    assert_int_equal(count_saved(), 2);
    assert_int_equal(arm(0x04000f15),
                     HD_COMPACT_FRAME); /* x19, x23 and x27, with their neighbours, and floats */
    expect_saved(19, -24);
    expect_saved(20, -32);
    expect_saved(23, -40);
    expect_saved(24, -48);
    expect_saved(27, -56);
    expect_saved(28, -64);
    assert_int_equal(count_saved(), 8);
}

static void arm_frameless(void **state) {
    (void)state;
    assert_int_equal(arm(0x02000000), HD_COMPACT_FRAMELESS);
    expect_cfa(31, 0);
    assert_int_equal(count_saved(), 0); /* the return address stays in x30 */
    assert_int_equal(row.return_column, 30);
    assert_int_equal(arm(0x02002003), HD_COMPACT_FRAMELESS);
    expect_cfa(31, 32);
    expect_saved(19, -8);
    expect_saved(20, -16);
    expect_saved(21, -24);
    expect_saved(22, -32);
    assert_int_equal(arm(0x02001003), -EINVAL); /* two pairs in 16 bytes */
    assert_int_equal(arm(0x02001101), -EINVAL);
}

static void other_modes(void **state) {
    (void)state;
    assert_int_equal(intel(0x40000000), HD_COMPACT_NULL);
    assert_int_equal(arm(0x40000000), HD_COMPACT_NULL);
    assert_int_equal(intel(0x04000123), HD_COMPACT_DWARF);
    assert_int_equal(arm(0x03000123), HD_COMPACT_DWARF);
    assert_int_equal(HD_COMPACT_FDE(0x73000123), 0x123);
    assert_int_equal(intel(0x05000000), -EINVAL);
    assert_int_equal(arm(0x01000000), -EINVAL);
    assert_int_equal(arm(0x05000000), -EINVAL);
    assert_int_equal(decode(7, 0x04000000), -EINVAL);
}

/* No rule leads above the CFA or to another word's middle. */
static void every_encoding_is_safe(void **state) {
    (void)state;
    for (uint64_t encoding = 0; encoding <= UINT32_MAX; encoding += 4099) {
        for (unsigned cpu = 0; cpu < 2; cpu++) {
            int kind = cpu == 0 ? intel((uint32_t)encoding) : arm((uint32_t)encoding);
            for (unsigned i = 0; i < HD_REGS_MAX && kind >= 0; i++) {
                assert_true(row.reg[i].how == HD_HOW_UNSPECIFIED ||
                            (row.reg[i].value <= -8 && row.reg[i].value % 8 == 0));
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intel_frame),
        cmocka_unit_test(intel_frameless),
        cmocka_unit_test(intel_large),
        cmocka_unit_test(arm_frame),
        cmocka_unit_test(arm_frameless),
        cmocka_unit_test(other_modes),
        cmocka_unit_test(every_encoding_is_safe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
