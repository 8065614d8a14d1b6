/* SPDX-License-Identifier: MIT
 *
 * CPython's frames in memory that we made: named where all fits together; where it is torn, cyclic or
 * garbage, it ends, names nothing that is not there, and reads nothing that cannot be read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chance.h"
#include "script/cpython_offsets.h"
#include "script/script.h"

#define BASE UINT64_C(0x10000)
#define BYTES 0x8000u
#define STACK (BASE + 0x7000) /* its upper part is the thread's stack */
#define STACK_BYTES 0x400u
#define EVAL UINT64_C(0x500000)
#define CODE_TYPE (BASE + 0x10)
#define STR_TYPE (BASE + 0x20)
#define ROOT (BASE + 0x100)

static uint8_t memory[BYTES];
static unsigned reads;
static struct hd_modules modules;
static struct hd_scripts scripts;
static struct hd_frame frames[300];

static int read_memory(void *ctx, uint64_t address, void *out, size_t n) {
    (void)ctx;
    reads++;
    if (address < BASE || address - BASE > BYTES || n > BYTES - (address - BASE)) {
        return -EFAULT;
    }
    memcpy(out, memory + (address - BASE), n);
    return 0;
}

static int find_nothing(struct hd_modules *m, uint64_t pc, struct hd_module *out, char *path, size_t bytes) {
    (void)m, (void)pc, (void)out, (void)path, (void)bytes;
    return -ENOENT;
}

static void put64(uint64_t address, uint64_t v) {
    memcpy(memory + (address - BASE), &v, sizeof v);
}

static void put32(uint64_t address, uint32_t v) {
    memcpy(memory + (address - BASE), &v, sizeof v);
}

static void put_str(uint64_t at, unsigned kind, const void *data, size_t length) {
    put64(at + PY_TYPE, STR_TYPE);
    put64(at + PY_STR_LENGTH, length);
    memory[at + PY_STR_STATE - BASE] = (uint8_t)(kind << 2 | 0x20 | (kind == 1 ? 0x40 : 0) | 0x80);
    memcpy(memory + (at + (kind == 1 ? PY_STR_ASCII_DATA : PY_STR_DATA) - BASE), data, length * kind);
}

#define FILE_STR (BASE + 0x200)
#define NAME(n) (BASE + 0x300 + (n)*0x80)
#define CODE(n) (BASE + 0x800 + (n)*0x180)
#define LINES(n) (CODE(n) + 0x120)
#define FRAME(n) (BASE + 0x4000 + (n)*0x80)
#define CFRAME(n) (STACK + 0x100 * (n) + 0x40)

/* A function whose first line is 10 (n + 1), with three instructions on that line, the next and the third
 * after. */
static void put_code(unsigned n, const char *name) {
    static const uint8_t lines[] = {0x80 | 10 << 3 | 0, 0,     0, 0x80 | 11 << 3 | 0, 0, 0,
                                    0x80 | 13 << 3 | 0, 2 << 1};
    put_str(NAME(n), 1, name, strlen(name));
    put64(CODE(n) + PY_TYPE, CODE_TYPE);
    put64(CODE(n) + PY_VAR_SIZE, 3);
    put32(CODE(n) + PY_CODE_FIRST_LINE, 10 * (n + 1));
    put64(CODE(n) + PY_CODE_FILE, FILE_STR);
    put64(CODE(n) + PY_CODE_NAME, NAME(n));
    put64(CODE(n) + PY_CODE_LINES, LINES(n));
    put64(LINES(n) + PY_VAR_SIZE, sizeof lines);
    memcpy(memory + (LINES(n) + PY_BYTES_DATA - BASE), lines, sizeof lines);
}

static void put_frame(unsigned n, unsigned code, unsigned unit, unsigned previous, bool entry) {
    put64(FRAME(n) + PY_FRAME_CODE, CODE(code));
    put64(FRAME(n) + PY_FRAME_PREVIOUS, previous == 0 ? 0 : FRAME(previous));
    put64(FRAME(n) + PY_FRAME_INSTR, CODE(code) + PY_CODE_UNITS + unit * PY_UNIT_BYTES);
    memory[FRAME(n) + PY_FRAME_ENTRY - BASE] = entry;
    memory[FRAME(n) + PY_FRAME_OWNER - BASE] = 0;
}

static void put_cframe(unsigned n, unsigned frame, uint64_t previous) {
    put64(CFRAME(n) + PY_CFRAME_CURRENT, FRAME(frame));
    put64(CFRAME(n) + PY_CFRAME_PREVIOUS, previous);
}

/* sleep, called by python functions "inner" and "middle" in one call of the interpreter, called by a C
 * function, called by "outer" in another, called by main. */
static int set_up(void **state) {
    (void)state;
    memset(memory, 0, sizeof memory);
    memset(&modules, 0, sizeof modules);
    modules.memory.read = read_memory;
    modules.find = find_nothing;
    hd_scripts_init(&scripts, &modules);
    scripts.eval = EVAL;
    scripts.code_type = CODE_TYPE;
    scripts.str_type = STR_TYPE;
    put_str(FILE_STR, 1, "/srv/app.py", 11);
    put_code(0, "outer");
    put_code(1, "middle");
    put_code(2, "inner");
    put_frame(1, 0, 0, 0, true);
    put_frame(2, 1, 1, 1, true);
    put_frame(3, 2, 2, 2, false);
    put_cframe(3, 1, ROOT);
    put_cframe(1, 3, CFRAME(3));
    return 0;
}

static uint32_t expand_up_to(uint32_t max) {
    static const uint64_t starts[] = {0x1000, EVAL, 0x2000, EVAL, 0x3000};
    for (unsigned i = 0; i < 5; i++) {
        frames[i] = (struct hd_frame){.pc = starts[i] + 5,
                                      .start = starts[i],
                                      .trust = HD_TRUST_CFI,
                                      .at = i == 4 ? STACK_BYTES : 0x100 * i};
    }
    return hd_scripts_expand(&scripts, frames, 5, max, 0, memory + (STACK - BASE), STACK, STACK_BYTES);
}

static uint32_t expand(void) {
    return expand_up_to(300);
}

static void check(uint32_t i, const char *name, uint32_t line, uint64_t start) {
    assert_int_not_equal(frames[i].script, 0);
    assert_string_equal(hd_script_name(&scripts, &frames[i]), name);
    assert_string_equal(hd_script_file(&scripts, &frames[i]), "/srv/app.py");
    assert_int_equal(frames[i].at, line);
    assert_int_equal(frames[i].start, start);
    assert_int_equal(frames[i].pc, EVAL + 5);
}

static void functions_stand_before_the_call_that_ran_them(void **state) {
    (void)state;
    for (int round = 0; round < 2; round++) { /* first found, then known */
        assert_int_equal(expand(), 8);
        check(1, "inner", 33, CODE(2));
        check(2, "middle", 21, CODE(1));
        assert_int_equal(frames[3].start, EVAL);
        assert_int_equal(frames[3].script, 0);
        check(5, "outer", 10, CODE(0));
        assert_int_equal(frames[6].start, EVAL);
        assert_int_equal(scripts.cframe, 0x40 - 0x100);
        hd_scripts_begin(&scripts, false);
    }
    assert_int_equal(scripts.count, 3);
}

static void room_ends_where_it_ends(void **state) {
    (void)state;
    assert_int_equal(expand_up_to(5), 5);
    assert_int_equal(expand_up_to(6), 6);
    check(1, "inner", 33, CODE(2));
    assert_int_equal(frames[2].start, EVAL);
}

static void names_of_any_script_are_utf_8(void **state) {
    (void)state;
    const uint16_t wide[] = {0x4e2d, 'x', 0xd800};
    const uint32_t wider[] = {0x1f600, 0x110000, 0};
    put_str(NAME(2), 2, wide, 3);
    put_str(NAME(1), 4, wider, 3);
    assert_int_equal(expand(), 8);
    check(1, "\xe4\xb8\xadx\xef\xbf\xbd", 33, CODE(2));
    check(2, "\xf0\x9f\x98\x80\xef\xbf\xbd\xef\xbf\xbd", 21, CODE(1));
}

static void a_long_name_is_cut_and_of_a_long_path_the_end_is_kept(void **state) {
    (void)state;
    char path[600];
    memset(path, 'd', sizeof path);
    for (unsigned i = 0; i < 7; i++) {
        path[sizeof path - 7 + i] = "/app.py"[i];
    }
    uint64_t at = BASE + 0x6000;
    put_str(at, 1, path, sizeof path);
    put64(CODE(2) + PY_CODE_FILE, at);
    put64(CODE(2) + PY_CODE_NAME, at);
    assert_int_equal(expand(), 8);
    assert_int_equal(strlen(hd_script_name(&scripts, &frames[1])), 120);
    assert_int_equal(strlen(hd_script_file(&scripts, &frames[1])), 240);
    assert_string_equal(hd_script_file(&scripts, &frames[1]) + 233, "/app.py");
}

static void a_cycle_of_frames_ends(void **state) {
    (void)state;
    assert_int_equal(expand(), 8);
    put64(FRAME(2) + PY_FRAME_PREVIOUS, FRAME(3));
    memory[FRAME(2) + PY_FRAME_ENTRY - BASE] = 0;
    reads = 0;
    assert_int_equal(expand(), 5 + HD_SCRIPT_FRAMES_PER_CALL + 1);
    put64(FRAME(3) + PY_FRAME_PREVIOUS, FRAME(3));
    assert_int_equal(expand(), 5 + HD_SCRIPT_FRAMES_PER_CALL + 1);
    assert_true(reads < 1000);
}

static void a_list_that_leads_elsewhere_names_nothing(void **state) {
    (void)state;
    assert_int_equal(expand(), 8);
    put64(FRAME(2) + PY_FRAME_PREVIOUS, FRAME(9)); /* not the frame of the next call */
    assert_int_equal(expand(), 6);
    check(3, "outer", 10, CODE(0));
    put64(FRAME(3) + PY_FRAME_PREVIOUS, 0xdead0000);
    assert_int_equal(expand(), 6);
}

/* In a greenlet: the interpreter's calls further out are those of who switched to it. */
static void a_list_that_ends_before_the_next_call_is_whole(void **state) {
    (void)state;
    put_frame(2, 1, 1, 0, true);
    assert_int_equal(expand(), 8);
    check(1, "inner", 33, CODE(2));
    check(2, "middle", 21, CODE(1));
    check(5, "outer", 10, CODE(0));
}

/* The thread ran on: the copy's frame is gone, and another one is there now. */
static void a_frame_that_is_gone_is_replaced_by_the_one_that_runs(void **state) {
    (void)state;
    uint8_t copy[STACK_BYTES];
    assert_int_equal(expand(), 8);
    memcpy(copy, memory + (STACK - BASE), sizeof copy);
    put64(FRAME(3) + PY_FRAME_CODE, 0);
    put64(CFRAME(1) + PY_CFRAME_CURRENT, FRAME(2));
    expand();
    for (unsigned i = 0; i < 5; i++) {
        frames[i] = (struct hd_frame){.pc = (i & 1 ? EVAL : 0x1000) + 5,
                                      .start = i & 1 ? EVAL : 0x1000,
                                      .at = i == 4 ? STACK_BYTES : 0x100 * i};
    }
    assert_int_equal(hd_scripts_expand(&scripts, frames, 5, 300, 0, copy, STACK, STACK_BYTES), 7);
    check(1, "middle", 21, CODE(1));
}

static void what_is_no_code_or_no_string_names_nothing(void **state) {
    (void)state;
    static const struct {
        uint64_t at, value;
    } spoiled[] = {
        {CODE(2) + PY_TYPE, STR_TYPE},
        {CODE(2) + PY_VAR_SIZE, UINT64_MAX},
        {CODE(2) + PY_VAR_SIZE, 0},
        {CODE(2) + PY_CODE_NAME, 0},
        {CODE(2) + PY_CODE_NAME, UINT64_MAX - 3},
        {CODE(2) + PY_CODE_FILE, CODE(1)},
        {NAME(2) + PY_STR_LENGTH, UINT64_MAX},
        {NAME(2) + PY_STR_STATE, 0},
        {NAME(2) + PY_TYPE, CODE_TYPE},
        {FRAME(3) + PY_FRAME_INSTR, 0},
        {FRAME(3) + PY_FRAME_INSTR, CODE(2) + PY_CODE_UNITS + 1},
        {FRAME(3) + PY_FRAME_INSTR, CODE(2) + PY_CODE_UNITS + 6},
        {FRAME(3) + PY_FRAME_CODE, UINT64_MAX - 7},
        {FRAME(3) + PY_FRAME_ENTRY - 4, UINT64_MAX},
    };
    for (size_t i = 0; i < sizeof spoiled / sizeof spoiled[0]; i++) {
        set_up(NULL);
        assert_int_equal(expand(), 8);
        hd_scripts_init(&scripts, &modules);
        scripts.eval = EVAL, scripts.code_type = CODE_TYPE, scripts.str_type = STR_TYPE,
        scripts.cframe = 0x40 - 0x100;
        put64(spoiled[i].at, spoiled[i].value);
        assert_int_equal(expand(), 6);
        check(3, "outer", 10, CODE(0));
    }
}

static void leaves_out_an_unknown_line(void **state) {
    (void)state;
    put64(LINES(2) + PY_VAR_SIZE, UINT64_MAX);
    assert_int_equal(expand(), 8);
    check(1, "inner", 0, CODE(2));
    set_up(NULL);
    memory[LINES(2) + PY_BYTES_DATA + 6 - BASE] = 0x80 | 15 << 3;
    assert_int_equal(expand(), 8);
    check(1, "inner", 0, CODE(2));
    set_up(NULL);
    memset(memory + (LINES(2) + PY_BYTES_DATA - BASE), 0x40, 8); /* columns without an entry, for ever */
    assert_int_equal(expand(), 8);
    check(1, "inner", 0, CODE(2));
}

static void a_full_table_leaves_functions_out_until_it_is_emptied(void **state) {
    (void)state;
    assert_int_equal(expand(), 8);
    scripts.count = 0;
    memset(scripts.place, 0, sizeof scripts.place);
    scripts.string_bytes = HD_SCRIPT_STRINGS_BYTES - 10;
    assert_int_equal(expand(), 5);
    hd_scripts_begin(&scripts, false);
    assert_int_equal(expand(), 5);
    hd_scripts_begin(&scripts, true);
    assert_int_equal(expand(), 8);
}

#define MODULE (BASE + 0x2000)

/* A module that exports what CPython does. */
static struct hd_module put_python(void) {
    static const struct {
        const char *name;
        uint64_t address;
    } exports[] = {{"_PyEval_EvalFrameDefault", EVAL},
                   {"Py_Version", BASE + 0x30},
                   {"PyCode_Type", CODE_TYPE},
                   {"PyUnicode_Type", STR_TYPE}};
    enum { COUNT = sizeof exports / sizeof exports[0] };
    uint64_t at = MODULE - BASE, names = at + 0x300, hash = at + 0x400;
    const Elf64_Ehdr header = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3}, .e_phoff = sizeof header, .e_phnum = 1};
    const Elf64_Phdr program = {.p_type = PT_DYNAMIC, .p_vaddr = at + 0x100};
    const Elf64_Dyn dynamic[] = {{DT_SYMTAB, {.d_ptr = MODULE + 0x200}},
                                 {DT_STRTAB, {.d_ptr = MODULE + 0x300}},
                                 {DT_STRSZ, {.d_val = 0x100}},
                                 {DT_GNU_HASH, {.d_ptr = MODULE + 0x400}},
                                 {DT_NULL, {.d_val = 0}}};
    const uint32_t head[] = {1, 1, 1, 0, UINT32_MAX, UINT32_MAX, 1}; /* one bucket: all from symbol 1 on */
    put64(BASE + 0x30, (uint64_t)HD_CPYTHON_VERSION << 16);
    memcpy(memory + at, &header, sizeof header);
    memcpy(memory + at + sizeof header, &program, sizeof program);
    memcpy(memory + at + 0x100, dynamic, sizeof dynamic);
    memcpy(memory + hash, head, sizeof head);
    for (uint32_t i = 0, name = 1; i < COUNT; i++) {
        Elf64_Sym symbol = {.st_name = name, .st_shndx = 1, .st_value = exports[i].address - BASE};
        uint32_t link = 5381;
        for (const char *c = exports[i].name; *c != '\0'; c++) {
            link = link * 33 + (uint8_t)*c;
        }
        link = (link & ~1u) | (i + 1 == COUNT);
        memcpy(memory + at + 0x200 + (i + 1) * sizeof symbol, &symbol, sizeof symbol);
        memcpy(memory + hash + sizeof head + i * sizeof link, &link, sizeof link);
        size_t bytes = strlen(exports[i].name) + 1;
        memcpy(memory + names + name, exports[i].name, bytes);
        name += (uint32_t)bytes;
    }
    return (struct hd_module){.lo = BASE, .hi = BASE + BYTES, .bias = BASE, .header = MODULE};
}

static void python_is_found_again_where_a_module_went_while_a_hang_is_on(void **state) {
    (void)state;
    struct hd_module python = put_python();
    scripts.eval = 0;
    modules.count = 2; /* others */
    assert_int_equal(expand(), 5);
    hd_modules_reset(&modules);
    modules.module[0] = python;
    modules.count = 1;
    assert_int_equal(expand(), 8);
    hd_modules_reset(&modules);
    modules.module[1] = python;
    modules.module[0] = (struct hd_module){0};
    modules.count = 2;
    assert_int_equal(expand(), 8);
    check(1, "inner", 33, CODE(2));
}

static void more_than_three_hundred_functions_of_a_turn_are_named(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 300; i++) { /* one function's object, taken by another one each time */
        put32(CODE(2) + PY_CODE_FIRST_LINE, 100 + i);
        memset(scripts.place, 0, sizeof scripts.place);
        assert_int_equal(expand(), 8);
        check(1, "inner", 103 + i, CODE(2));
    }
}

static void bytes_of_any_kind_do_no_harm(void **state) {
    (void)state;
    for (int round = 0; round < 20000; round++) {
        set_up(NULL);
        scripts.cframe = round % 2 ? 0x40 - 0x100 : 0;
        for (int i = 0; i < 8; i++) {
            static const uint64_t like[] = {CODE_TYPE, STR_TYPE, FRAME(1),  FRAME(3),
                                            CODE(1),   NAME(1),  CFRAME(3), ROOT};
            uint64_t at = (uint64_t)(any(BYTES / 8)) * 8;
            uint64_t v = any(2) ? like[any(8)] : (uint64_t)any(UINT32_MAX) << (any(40));
            if (i < 4) { /* where it hurts */
                at = (i % 2 ? FRAME(1 + any(3)) : CODE(any(3))) - BASE + (uint64_t)(any(23)) * 8;
            }
            memcpy(memory + at, &v, sizeof v);
        }
        reads = 0;
        uint32_t count = expand();
        assert_in_range(count, 5, 5 + 2 * HD_SCRIPT_FRAMES_PER_CALL);
        assert_true(reads < 20000);
        for (uint32_t i = 0; i < count; i++) {
            if (frames[i].script != 0) {
                assert_true(strlen(hd_script_name(&scripts, &frames[i])) < HD_SCRIPT_STRINGS_BYTES);
                assert_true(strlen(hd_script_file(&scripts, &frames[i])) < HD_SCRIPT_STRINGS_BYTES);
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(functions_stand_before_the_call_that_ran_them, set_up),
        cmocka_unit_test_setup(room_ends_where_it_ends, set_up),
        cmocka_unit_test_setup(names_of_any_script_are_utf_8, set_up),
        cmocka_unit_test_setup(a_long_name_is_cut_and_of_a_long_path_the_end_is_kept, set_up),
        cmocka_unit_test_setup(a_cycle_of_frames_ends, set_up),
        cmocka_unit_test_setup(a_list_that_leads_elsewhere_names_nothing, set_up),
        cmocka_unit_test_setup(a_list_that_ends_before_the_next_call_is_whole, set_up),
        cmocka_unit_test_setup(a_frame_that_is_gone_is_replaced_by_the_one_that_runs, set_up),
        cmocka_unit_test_setup(what_is_no_code_or_no_string_names_nothing, set_up),
        cmocka_unit_test_setup(leaves_out_an_unknown_line, set_up),
        cmocka_unit_test_setup(a_full_table_leaves_functions_out_until_it_is_emptied, set_up),
        cmocka_unit_test_setup(python_is_found_again_where_a_module_went_while_a_hang_is_on, set_up),
        cmocka_unit_test_setup(more_than_three_hundred_functions_of_a_turn_are_named, set_up),
        cmocka_unit_test_setup(bytes_of_any_kind_do_no_harm, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
