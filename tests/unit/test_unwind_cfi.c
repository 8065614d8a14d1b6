/* SPDX-License-Identifier: MIT
 *
 * Call frame information put together by hand: the reader, the search for an FDE, every instruction, the
 * compact rule.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/reader.h"
#include "unwind/arch/arch.h"
#include "unwind/cfa.h"
#include "unwind/eh_index.h"
#include "unwind/rule.h"
#include "unwind_bytes.h"

static struct unwind_bytes b;
static struct hd_cfa_scratch scratch;
static struct hd_row row;

static struct hd_reader reader(void) {
    struct hd_reader r;
    hd_reader_init(&r, &b.modules.memory, BYTES_AT, bytes_here(&b));
    return r;
}

/* ---- reader ------------------------------------------------------------------------------------- */

static void reader_gives_what_was_put(void **state) {
    (void)state;
    static const int64_t numbers[] = {0, 1, -1, 63, 64, -64, -65, 127, 128, INT64_MAX, INT64_MIN};
    bytes_init(&b);
    bytes_u8(&b, 0xab);
    bytes_u32(&b, 0x12345678);
    bytes_u64(&b, UINT64_C(0x1122334455667788));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        bytes_sleb(&b, numbers[i]);
        bytes_uleb(&b, (uint64_t)numbers[i]);
    }
    struct hd_reader r = reader();
    assert_int_equal(hd_reader_u8(&r), 0xab);
    assert_int_equal(hd_reader_u32(&r), 0x12345678);
    assert_true(hd_reader_u64(&r) == UINT64_C(0x1122334455667788));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        assert_true(hd_reader_sleb(&r) == numbers[i]);
        assert_true(hd_reader_uleb(&r) == (uint64_t)numbers[i]);
    }
    assert_false(r.bad);
    assert_int_equal(hd_reader_u8(&r), 0);
    assert_true(r.bad);
}

static void reader_stays_bad_after_its_first_failure(void **state) {
    (void)state;
    bytes_init(&b);
    for (int i = 0; i < 12; i++) {
        bytes_u8(&b, 0x80 | i);
    }
    struct hd_reader r = reader();
    (void)hd_reader_uleb(&r); /* never ends */
    assert_true(r.bad);
    assert_int_equal(hd_reader_u8(&r), 0);
    r = reader();
    hd_reader_skip(&r, UINT64_MAX);
    assert_true(r.bad);
    assert_null(hd_reader_take(&r, 1));
    hd_reader_init(&r, &b.modules.memory, 8, 4);
    assert_int_equal(hd_reader_u8(&r), 0);
    assert_true(r.bad);
}

static void reader_crosses_its_window_and_goes_back(void **state) {
    (void)state;
    bytes_init(&b);
    for (unsigned i = 0; i < 3 * HD_READER_WINDOW; i++) {
        bytes_u8(&b, i & 0xff);
    }
    struct hd_reader r = reader();
    hd_reader_skip(&r, HD_READER_WINDOW - 2);
    assert_int_equal(hd_reader_u32(&r), 0x0100fffe);
    hd_reader_seek(&r, BYTES_AT + 3);
    assert_int_equal(hd_reader_u8(&r), 3);
    b.readable = HD_READER_WINDOW + 4; /* the rest is not there: what is asked for still is */
    hd_reader_seek(&r, BYTES_AT + HD_READER_WINDOW);
    assert_int_equal(hd_reader_u32(&r), 0x03020100);
    assert_false(r.bad);
    assert_int_equal(hd_reader_u8(&r), 0);
    assert_true(r.bad);
}

static void pointers_of_every_encoding_are_read(void **state) {
    (void)state;
    static const struct {
        uint8_t enc;
        int bytes;
        uint64_t raw, want;
    } cases[] = {
        {0x00, 8, 0x1234, 0x1234},
        {0x03, 4, 0xfffffff0, 0xfffffff0},
        {0x0b, 4, 0xfffffff0, (uint64_t)-16},
        {0x02, 2, 0xfff0, 0xfff0},
        {0x0a, 2, 0xfff0, (uint64_t)-16},
        {0x0c, 8, (uint64_t)-16, (uint64_t)-16},
        {0x1b, 4, 0x10, BYTES_AT + 0x10},
        {0x1c, 8, (uint64_t)-8, BYTES_AT - 8},
        {0x3b, 4, 0x10, 0x5010},
        {0x23, 4, 0x10, 0x6010},
        {0x4b, 4, 0x10, 0x7010},
        {0x1b, 4, 0, 0}, /* null is null, whatever it counts from */
        {0xff, 0, 0, 0},
        {0x9b, 4, 8, UINT64_C(0xfeedfacecafebeef)}, /* indirect */
    };
    const struct hd_pe_bases bases = {.text = 0x6000, .data = 0x5000, .func = 0x7000};
    const struct hd_pe_bases none = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bytes_init(&b);
        bytes_put(&b, &cases[i].raw, (size_t)cases[i].bytes);
        while (b.used < 8) {
            bytes_u8(&b, 0);
        }
        bytes_u64(&b, UINT64_C(0xfeedfacecafebeef));
        struct hd_reader r = reader();
        assert_true(hd_reader_pointer(&r, cases[i].enc, &bases) == cases[i].want);
        assert_false(r.bad);
        assert_int_equal(r.at - BYTES_AT, cases[i].bytes);
    }
    bytes_init(&b);
    bytes_u64(&b, 1);
    struct hd_reader r = reader();
    (void)hd_reader_pointer(&r, 0x3b, &none); /* relative to what is not known */
    assert_true(r.bad);
    r = reader();
    (void)hd_reader_pointer(&r, 0x07, &none); /* no such format */
    assert_true(r.bad);
}

/* ---- finding ------------------------------------------------------------------------------------ */

static int find(uint64_t pc, struct hd_fde *fde) {
    struct hd_eh_table table;
    int rc = hd_eh_table_open(&b.modules.memory, b.hdr, CODE_END, &table);
    static struct hd_eh_index index;
    index.frames = 0;
    return rc != 0              ? rc
           : table.entries != 0 ? hd_eh_table_find(&b.modules.memory, &table, pc, fde)
                                : hd_eh_index_find(&index, &b.modules.memory, &table, pc, fde);
}

static void functions_are_found_with_and_without_a_table(void **state) {
    (void)state;
    for (int table = 0; table < 2; table++) {
        struct hd_fde fde;
        bytes_init(&b);
        bytes_cie(&b, false);
        for (unsigned i = 0; i < 60; i++) {
            if (i == 30) {
                bytes_cie(&b, true);
            }
            bytes_fde_begin(&b, CODE_AT + i * 0x20, 0x18); /* with a gap behind each */
            bytes_record_end(&b);
        }
        bytes_finish(&b, table != 0);
        for (uint64_t pc = CODE_AT - 4; pc < CODE_AT + 61 * 0x20; pc++) {
            bool inside = pc >= CODE_AT && pc < CODE_AT + 60 * 0x20 && (pc - CODE_AT) % 0x20 < 0x18;
            assert_int_equal(find(pc, &fde), inside ? 0 : -ENOENT);
            if (!inside) {
                continue;
            }
            assert_true(fde.start == pc - (pc - CODE_AT) % 0x20 && fde.stop == fde.start + 0x18);
            assert_int_equal(fde.cie.signal_frame, (pc - CODE_AT) / 0x20 >= 30);
            assert_int_equal(fde.cie.return_column, 16);
        }
    }
}

static void every_augmentation_is_stepped_over(void **state) {
    (void)state;
    struct hd_fde fde;
    bytes_init(&b);
    b.cie = bytes_here(&b);
    bytes_record_begin(&b);
    bytes_u32(&b, 0);
    bytes_u8(&b, 3); /* version 3: the return column is a uleb */
    bytes_put(&b, "zPLRSB", 7);
    bytes_uleb(&b, 4);
    bytes_sleb(&b, -4);
    bytes_uleb(&b, 30);
    bytes_uleb(&b, 12);
    bytes_u8(&b, 0x9b); /* personality, indirect: must not be followed */
    bytes_u32(&b, 0x7ffffff0);
    bytes_u8(&b, 0x1b);             /* LSDA encoding */
    bytes_u8(&b, 0x00);             /* FDE encoding: plain addresses */
    bytes_put(&b, "\1\2\3\4\5", 5); /* of letters to come */
    bytes_record_end(&b);
    b.fde[0] = bytes_here(&b);
    b.start[b.fdes++] = CODE_AT;
    bytes_record_begin(&b);
    bytes_u32(&b, (uint32_t)(bytes_here(&b) - b.cie));
    bytes_u64(&b, CODE_AT);
    bytes_u64(&b, 0x100);
    bytes_uleb(&b, 4);
    bytes_u32(&b, 0xdeadbeef); /* LSDA */
    bytes_record_end(&b);
    bytes_finish(&b, true);
    memset(&fde, 0, sizeof fde);
    assert_int_equal(find(CODE_AT + 0xff, &fde), 0);
    assert_true(fde.start == CODE_AT && fde.stop == CODE_AT + 0x100);
    assert_int_equal(fde.cie.code_align, 4);
    assert_int_equal(fde.cie.data_align, -4);
    assert_int_equal(fde.cie.return_column, 30);
    assert_true(fde.cie.signal_frame);
}

/* ---- instructions ------------------------------------------------------------------------------- */

/* A function of 0x100 bytes with these instructions. */
static void function(const char *code, size_t n) {
    bytes_init(&b);
    bytes_cie(&b, false);
    bytes_fde_begin(&b, CODE_AT, 0x100);
    bytes_put(&b, code, n);
    bytes_record_end(&b);
    bytes_finish(&b, true);
}
#define FUNCTION(code) function(code, sizeof(code) - 1)

static int row_at(uint64_t offset) {
    struct hd_fde fde;
    memset(&fde, 0, sizeof fde);
    int rc = find(CODE_AT + offset, &fde);
    return rc != 0 ? rc : hd_cfa_row(&b.modules.memory, &fde, CODE_AT + offset, &scratch, &row);
}

static void check_register(unsigned reg, enum hd_how how, int64_t value) {
    assert_int_equal(row.reg[reg].how, how);
    assert_true(row.reg[reg].value == value);
}

static void check_cfa(uint64_t at, unsigned reg, int64_t offset) {
    assert_int_equal(row_at(at), 0);
    assert_true(row.cfa_known && !row.cfa_expression);
    assert_int_equal(row.cfa_register, reg);
    assert_true(row.cfa_offset == offset);
}

static void a_prologue_has_a_row_for_each_instruction(void **state) {
    (void)state;
    /* push %rbp; mov %rsp,%rbp; ...; leave */
    FUNCTION("\x41\x0e\x10\x86\x02\x43\x0d\x06\x02\xf0\x0c\x07\x08");
    check_cfa(0, 7, 8);
    assert_true(row.start == CODE_AT && row.stop == CODE_AT + 1);
    check_register(16, HD_HOW_OFFSET, -8);
    check_register(6, HD_HOW_UNSPECIFIED, 0);
    check_cfa(1, 7, 16);
    check_register(6, HD_HOW_OFFSET, -16);
    check_cfa(3, 7, 16);
    check_cfa(4, 6, 16);
    check_cfa(0xf3, 6, 16);
    assert_true(row.start == CODE_AT + 4 && row.stop == CODE_AT + 0xf4);
    check_cfa(0xf4, 7, 8);
    check_cfa(0xff, 7, 8);
    assert_true(row.stop == CODE_AT + 0x100);
}

static void advances_of_all_widths_add_up(void **state) {
    (void)state;
    FUNCTION("\x42\x0e\x10\x02\x08\x0e\x18\x03\x10\x00\x0e\x20\x04\x20\x00\x00\x00\x0e\x28");
    check_cfa(1, 7, 8);
    check_cfa(2, 7, 16);
    check_cfa(10, 7, 24);
    check_cfa(26, 7, 32);
    check_cfa(58, 7, 40);
    bytes_init(&b);
    bytes_cie(&b, false);
    bytes_fde_begin(&b, CODE_AT, 0x100);
    bytes_u8(&b, 0x01); /* set_loc, in the FDE's encoding */
    bytes_u32(&b, (uint32_t)(CODE_AT + 0x40 - bytes_here(&b)));
    bytes_put(&b, "\x0e\x30", 2);
    bytes_record_end(&b);
    bytes_finish(&b, true);
    check_cfa(0x3f, 7, 8);
    check_cfa(0x40, 7, 48);
}

static void every_register_rule_is_kept(void **state) {
    (void)state;
    FUNCTION("\x83\x03"             /* rbx at CFA-24 */
             "\x05\x0c\x04"         /* offset_extended r12 at CFA-32 */
             "\x11\x0d\x7e"         /* offset_extended_sf r13 at CFA+16 */
             "\x2f\x0e\x03"         /* GNU_negative_offset_extended r14 at CFA+24 */
             "\x14\x00\x02"         /* val_offset rax is CFA-16 */
             "\x15\x01\x7d"         /* val_offset_sf rdx is CFA+24 */
             "\x09\x02\x05"         /* rcx in rdi */
             "\x07\x04"             /* rsi undefined */
             "\x08\x05"             /* rdi same */
             "\x10\x08\x02\x77\x08" /* r8 at [rsp+8] */
             "\x16\x09\x02\x77\x10" /* r9 is rsp+16 */
             "\x05\x20\x01"         /* a vector register: forgotten */
             "\x2e\x10");           /* GNU_args_size */
    assert_int_equal(row_at(0), 0);
    check_register(3, HD_HOW_OFFSET, -24);
    check_register(12, HD_HOW_OFFSET, -32);
    check_register(13, HD_HOW_OFFSET, 16);
    check_register(14, HD_HOW_OFFSET, 24);
    check_register(0, HD_HOW_VAL_OFFSET, -16);
    check_register(1, HD_HOW_VAL_OFFSET, 24);
    check_register(2, HD_HOW_REGISTER, 5);
    check_register(4, HD_HOW_UNDEFINED, 0);
    check_register(5, HD_HOW_SAME, 0);
    assert_int_equal(row.reg[8].how, HD_HOW_EXPRESSION);
    assert_int_equal(row.reg[8].bytes, 2);
    assert_int_equal(row.reg[9].how, HD_HOW_VAL_EXPRESSION);
}

static void restore_brings_back_the_initial_rule(void **state) {
    (void)state;
    FUNCTION("\x90\x05\x83\x02\x41\xd0\xc3\x41\x90\x06\x06\x10");
    assert_int_equal(row_at(0), 0);
    check_register(16, HD_HOW_OFFSET, -40);
    assert_int_equal(row_at(1), 0);
    check_register(16, HD_HOW_OFFSET, -8);
    check_register(3, HD_HOW_UNSPECIFIED, 0);
    assert_int_equal(row_at(2), 0);
    check_register(16, HD_HOW_OFFSET, -8);
}

static void remembered_rows_nest(void **state) {
    (void)state;
    char code[HD_REMEMBER_MAX * 6 + 1];
    size_t n = 0;
    for (unsigned i = 0; i < HD_REMEMBER_MAX; i++) { /* remember; CFA + 16; next */
        code[n++] = 0x0a;
        code[n++] = 0x0e;
        code[n++] = (char)(16 + i);
        code[n++] = 0x41;
    }
    for (unsigned i = 0; i < HD_REMEMBER_MAX; i++) {
        code[n++] = 0x0b;
        code[n++] = 0x41;
    }
    function(code, n);
    check_cfa(HD_REMEMBER_MAX - 1, 7, 15 + HD_REMEMBER_MAX);
    for (unsigned i = 0; i < HD_REMEMBER_MAX; i++) {
        check_cfa(HD_REMEMBER_MAX + i, 7, i + 1 == HD_REMEMBER_MAX ? 8 : 14 + HD_REMEMBER_MAX - i);
    }
    code[n++] = 0x0b; /* one too many */
    function(code, n);
    assert_int_equal(row_at(0xff), -EINVAL);
    for (n = 0; n <= HD_REMEMBER_MAX; n++) {
        code[n] = 0x0a;
    }
    function(code, n);
    assert_int_equal(row_at(0), -EINVAL);
}

static void a_cfa_expression_is_noted_and_undone(void **state) {
    (void)state;
    FUNCTION("\x41\x0f\x03\x76\x78\x06\x41\x0c\x07\x20\x41\x0c\x0a\x00\x41\x12\x07\x7c\x41\x13\x7b");
    assert_int_equal(row_at(1), 0);
    assert_true(row.cfa_expression);
    assert_int_equal(row.cfa_bytes, 3);
    check_cfa(2, 7, 32);
    check_cfa(3, 10, 0);
    check_cfa(4, 7, 32);
    check_cfa(5, 7, 40);
    FUNCTION("\x0f\x01\x30\x41\x0e\x10\x41\x0d\x06"); /* as in libgcrypt: the offset is kept for later */
    assert_int_equal(row_at(1), 0);
    assert_true(row.cfa_expression);
    check_cfa(2, 6, 16);
}

static void return_address_signing_toggles(void **state) {
    (void)state;
    FUNCTION("\x41\x2d\x41\x2d");
    assert_int_equal(row_at(0), 0);
    assert_false(row.return_signed);
    assert_int_equal(row_at(1), 0);
    assert_true(row.return_signed);
    assert_int_equal(row_at(2), 0);
    assert_false(row.return_signed);
}

static void unknown_instructions_and_ends_inside_one_are_malformed(void **state) {
    (void)state;
    static const char *const codes[] = {"\x17", "\x3f", "\x1c"};
    for (size_t i = 0; i < 3; i++) {
        function(codes[i], 1);
        assert_int_equal(row_at(0), -EINVAL);
    }
    FUNCTION("\x0f\x7f\x30"); /* a block that is longer than the record */
    assert_int_equal(row_at(0), -EINVAL);
    FUNCTION("\x83\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    assert_int_equal(row_at(0), -EINVAL);
}

/* ---- compact rules ------------------------------------------------------------------------------- */

#if defined(__x86_64__)
static enum hd_rule_kind kind_at(uint64_t at, struct hd_rule *rule) {
    assert_int_equal(row_at(at), 0);
    hd_rule_from_row(&row, rule);
    return (enum hd_rule_kind)rule->kind;
}

static void usual_rows_become_compact_rules(void **state) {
    struct hd_rule rule;
    (void)state;
    FUNCTION("\x41\x0e\x10\x86\x02\x41\x0d\x06\x83\x03\x8f\x04");
    assert_int_equal(kind_at(0, &rule), HD_RULE_SP);
    assert_int_equal(rule.cfa_offset, 8);
    assert_int_equal(rule.depth, 1);
    assert_int_equal(rule.saved, 0);
    assert_int_equal(kind_at(2, &rule), HD_RULE_FP);
    assert_int_equal(rule.cfa_offset, 16);
    assert_int_equal(rule.depth, 4);
    assert_int_equal(rule.saved, 1 << 6 | 1 << 3 | 1 << 15);
    assert_int_equal(rule.slot[0], -2);
    assert_int_equal(rule.slot[1], -3);
    FUNCTION("\x07\x10");
    assert_int_equal(kind_at(0, &rule), HD_RULE_ROOT);
}

static void unusual_rows_stay_whole(void **state) {
    (void)state;
    static const struct {
        const char *code;
        size_t n;
    } cases[] = {
        {"\x0f\x02\x77\x08", 4},         /* CFA by an expression */
        {"\x0c\x0a\x00", 3},             /* CFA by r10 */
        {"\x90\x02", 2},                 /* return address elsewhere */
        {"\x09\x10\x05", 3},             /* return address in rdi */
        {"\x83\x80\x01", 3},             /* rbx 1,024 bytes below the CFA: more than a slot says */
        {"\x2f\x03\x01", 3},             /* rbx above the CFA */
        {"\x80\x03", 2},                 /* rax saved */
        {"\x09\x03\x00", 3},             /* rbx in rax */
        {"\x07\x03", 2},                 /* rbx lost */
        {"\x0e\xff\xff\xff\xff\x0f", 6}, /* an offset of more than 31 bits */
    };
    struct hd_rule rule;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        function(cases[i].code, cases[i].n);
        assert_int_equal(kind_at(0, &rule), HD_RULE_ROW);
    }
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reader_gives_what_was_put),
        cmocka_unit_test(reader_stays_bad_after_its_first_failure),
        cmocka_unit_test(reader_crosses_its_window_and_goes_back),
        cmocka_unit_test(pointers_of_every_encoding_are_read),
        cmocka_unit_test(functions_are_found_with_and_without_a_table),
        cmocka_unit_test(every_augmentation_is_stepped_over),
        cmocka_unit_test(a_prologue_has_a_row_for_each_instruction),
        cmocka_unit_test(advances_of_all_widths_add_up),
        cmocka_unit_test(every_register_rule_is_kept),
        cmocka_unit_test(restore_brings_back_the_initial_rule),
        cmocka_unit_test(remembered_rows_nest),
        cmocka_unit_test(a_cfa_expression_is_noted_and_undone),
        cmocka_unit_test(return_address_signing_toggles),
        cmocka_unit_test(unknown_instructions_and_ends_inside_one_are_malformed),
#if defined(__x86_64__)
        cmocka_unit_test(usual_rows_become_compact_rules),
        cmocka_unit_test(unusual_rows_stay_whole),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
