/* SPDX-License-Identifier: MIT
 *
 * DWARF expressions: every operation that has a place in call frame information, and the limits.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unwind/expression.h"
#include "unwind_bytes.h"

#define STACK_AT UINT64_C(0x7000)

static struct unwind_bytes b;
static uint64_t words[8];
static struct hd_regs regs;
static uint32_t missing;

static int evaluate(const char *code, size_t n, const uint64_t *first, uint64_t *value) {
    const struct hd_stack stack = {
        .bytes = (const uint8_t *)words, .address = STACK_AT, .size = sizeof words};
    bytes_init(&b);
    bytes_put(&b, code, n);
    missing = HD_REGS_MAX;
    return hd_expression(&b.modules.memory, BYTES_AT, (uint32_t)n, &regs, &stack, first, value, &missing);
}

static int set_up(void **state) {
    (void)state;
    memset(&regs, 0, sizeof regs);
    regs.sp = STACK_AT;
    regs.pc = 0x401005;
    regs.r[3] = 0x100;
    regs.r[6] = STACK_AT + 16;
    regs.valid = 1u << 3 | 1u << 6;
    for (unsigned i = 0; i < 8; i++) {
        words[i] = UINT64_C(0x1111111111111111) * i;
    }
    words[7] = UINT64_C(0x8877665544332211);
    return 0;
}

struct result {
    const char *code;
    size_t n;
    uint64_t value;
};
#define IS(code, value) \
    { code, sizeof(code) - 1, (uint64_t)(value) }

static void operations_give_their_values(void **state) {
    static const struct result results[] = {
        IS("\x30", 0),
        IS("\x4f", 31),
        IS("\x08\xff", 255),
        IS("\x09\xff", -1),
        IS("\x0a\xfe\xff", 0xfffe),
        IS("\x0b\xfe\xff", -2),
        IS("\x0c\xfe\xff\xff\xff", 0xfffffffe),
        IS("\x0d\xfe\xff\xff\xff", -2),
        IS("\x0e\1\2\3\4\5\6\7\x08", 0x0807060504030201),
        IS("\x0f\xff\xff\xff\xff\xff\xff\xff\xff", -1),
        IS("\x03\1\2\3\4\5\6\7\x08", 0x0807060504030201),
        IS("\x10\x80\x01", 128),
        IS("\x11\x80\x7f", -128),
        IS("\x31\x32\x12", 2),             /* dup */
        IS("\x31\x32\x13", 1),             /* drop */
        IS("\x31\x32\x14", 1),             /* over */
        IS("\x31\x32\x33\x15\x02", 1),     /* pick */
        IS("\x31\x32\x16", 1),             /* swap */
        IS("\x31\x32\x33\x17", 2),         /* rot: the second comes to the top */
        IS("\x31\x32\x33\x17\x13\x13", 3), /* and the top is third */
        IS("\x31\x32\x33\x17\x13", 1),
        IS("\x11\x7b\x19", 5),                   /* abs */
        IS("\x3f\x35\x1a", 5),                   /* and */
        IS("\x11\x7a\x32\x1b", -3),              /* div is signed */
        IS("\x31\x33\x1c", -2),                  /* minus */
        IS("\x37\x34\x1d", 3),                   /* mod */
        IS("\x33\x34\x1e", 12),                  /* mul */
        IS("\x33\x1f", -3),                      /* neg */
        IS("\x30\x20", -1),                      /* not */
        IS("\x31\x34\x21", 5),                   /* or */
        IS("\x31\x34\x22", 5),                   /* plus */
        IS("\x31\x23\x80\x01", 129),             /* plus_uconst */
        IS("\x31\x34\x24", 16),                  /* shl */
        IS("\x31\x08\x40\x24", 0),               /* by all bits */
        IS("\x11\x7f\x34\x25", UINT64_MAX >> 4), /* shr */
        IS("\x11\x40\x34\x26", -4),              /* shra */
        IS("\x11\x40\x08\xc8\x26", -1),
        IS("\x37\x34\x27", 3),                 /* xor */
        IS("\x31\x31\x29", 1),                 /* eq */
        IS("\x11\x7f\x30\x2a", 0),             /* ge is signed */
        IS("\x30\x11\x7f\x2b", 1),             /* gt */
        IS("\x11\x7f\x30\x2c", 1),             /* le */
        IS("\x11\x7f\x30\x2d", 1),             /* lt */
        IS("\x31\x32\x2e", 1),                 /* ne */
        IS("\x31\x96", 1),                     /* nop */
        IS("\x2f\x01\x00\x31\x35", 5),         /* skip: over lit1 */
        IS("\x31\x28\x01\x00\x36\x35", 5),     /* bra taken */
        IS("\x36\x30\x28\x01\x00\x35", 5),     /* bra not taken */
        IS("\x33\x31\x1c\x12\x28\xfa\xff", 0), /* a loop that counts down */
        IS("\x73\x7c", 0xfc),                  /* breg3 -4 */
        IS("\x92\x03\x04", 0x104),             /* bregx */
        IS("\x77\x08", STACK_AT + 8),          /* the stack pointer is always known */
        IS("\x80\x00", 0x401005),              /* and the program counter */
        IS("\x76\x00\x06", 0x2222222222222222),
        IS("\x77\x38\x94\x01", 0x11),
        IS("\x77\x38\x94\x02", 0x2211),
        IS("\x77\x38\x94\x04", 0x44332211),
        IS("\x77\x38\x94\x03", 0x332211),
    };
    (void)state;
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        uint64_t value = 0;
        int rc = evaluate(results[i].code, results[i].n, NULL, &value);
        if (rc != 0 || value != results[i].value) {
            fail_msg("expression %zu: %d, %lx instead of %lx", i, rc, value, results[i].value);
        }
    }
}

static void the_linkers_expression_for_stubs_is_understood(void **state) {
    (void)state;
    /* rsp + 8 + ((rip & 15) >= 11) * 8 */
    for (uint64_t at = 0; at < 16; at++) {
        uint64_t value;
        regs.pc = 0x401000 + at;
        assert_int_equal(evaluate("\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22", 11, NULL, &value), 0);
        assert_true(value == STACK_AT + (at >= 11 ? 16 : 8));
    }
}

static void a_value_that_was_pushed_before_is_on_the_stack(void **state) {
    (void)state;
    uint64_t value, first = 0x5000;
    assert_int_equal(evaluate("\x38\x1c", 2, &first, &value), 0);
    assert_true(value == 0x4ff8);
    assert_int_equal(evaluate("", 0, &first, &value), 0);
    assert_true(value == 0x5000);
}

static void fails_for_invalid_expressions(void **state) {
    static const struct {
        const char *code;
        size_t n;
        int error;
    } cases[] = {
        {"", 0, -EINVAL},             /* nothing left */
        {"\x12", 1, -EINVAL},         /* dup of nothing */
        {"\x31\x22", 2, -EINVAL},     /* one operand of two */
        {"\x31\x15\x01", 3, -EINVAL}, /* pick too deep */
        {"\x31\x30\x1b", 3, -EINVAL}, /* by zero */
        {"\x31\x30\x1d", 3, -EINVAL},
        {"\x2f\xfd\xff", 3, -EINVAL},     /* for ever */
        {"\x2f\x10\x00", 3, -EINVAL},     /* out at the end */
        {"\x2f\xf0\xff", 3, -EINVAL},     /* out at the beginning */
        {"\x31\x2f\xfc\xff", 4, -EINVAL}, /* a stack that grows for ever */
        {"\x9c", 1, -EINVAL},             /* call_frame_cfa is not allowed here */
        {"\x50", 1, -EINVAL},             /* a register location neither */
        {"\x0e\x01", 2, -EINVAL},         /* cut short */
        {"\x31\x94\x09", 3, -EINVAL},
        {"\x31\x94\x00", 3, -EINVAL},
        {"\x31\x06", 2, -EFAULT},     /* address 1 */
        {"\x77\x39\x06", 3, -EFAULT}, /* seven bytes of eight */
        {"\x77\x78\x06", 3, -EFAULT}, /* below the copy */
        {"\x70\x00", 2, -ENODATA},    /* rax is not known */
        {"\x92\xff\x01\x00", 4, -ENODATA},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t value = 42;
        int rc = evaluate(cases[i].code, cases[i].n, NULL, &value);
        if (rc != cases[i].error || value != 42) {
            fail_msg("expression %zu: %d instead of %d", i, rc, cases[i].error);
        }
    }
    uint64_t value;
    regs.valid = 0;
    assert_int_equal(evaluate("\x76\x00", 2, NULL, &value), -ENODATA);
    assert_int_equal(missing, 6);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(operations_give_their_values, set_up),
        cmocka_unit_test_setup(the_linkers_expression_for_stubs_is_understood, set_up),
        cmocka_unit_test_setup(a_value_that_was_pushed_before_is_on_the_stack, set_up),
        cmocka_unit_test_setup(fails_for_invalid_expressions, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
