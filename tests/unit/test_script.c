/* SPDX-License-Identifier: MIT
 *
 * CPython's frames in memory that we made, as each version lays them out: named where all fits together;
 * where it is torn, cyclic or garbage, it ends, names nothing that is not there, and reads nothing that
 * cannot be read.
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
#include "script/cpython.h"

#define BASE UINT64_C(0x10000)
#define BYTES 0x8000u
#define STACK (BASE + 0x7000) /* its upper part is the thread's stack */
#define STACK_BYTES 0x400u
#define EVAL UINT64_C(0x500000)
#define CODE_TYPE (BASE + 0x10)
#define STR_TYPE (BASE + 0x20)
#define VERSION (BASE + 0x30)
#define FRAME_TYPE (BASE + 0x40)
#define ROOT (BASE + 0x100)
#define MODULE (BASE + 0x2000)
#define RUNTIME (BASE + 0x6400)
#define INTERPRETER (BASE + 0x6700)
#define THREAD(n) (BASE + 0x6800 + (n)*0x100)
#define SELF (BASE + 0x6b00)
#define TID 4711
#if defined(__x86_64__)
#define LIBC_TID 720 /* in glibc's record of a thread */
#else
#define LIBC_TID 208
#endif

static uint8_t memory[BYTES];
static unsigned reads;
static unsigned minor; /* of the version */
static struct hd_modules modules;
static struct hd_scripts scripts;
static struct hd_cpython_layout layout;
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

/* ---- a module ------------------------------------------------------------------------------- */

static uint32_t put_export(const char *name, uint32_t at, uint64_t address, uint32_t i, bool last) {
    uint64_t module = MODULE - BASE;
    Elf64_Sym symbol = {.st_name = at, .st_shndx = 1, .st_value = address - BASE};
    uint32_t link = 5381;
    for (const char *c = name; *c != '\0'; c++) {
        link = link * 33 + (uint8_t)*c;
    }
    link = (link & ~1u) | last;
    memcpy(memory + module + 0x200 + (i + 1) * sizeof symbol, &symbol, sizeof symbol);
    memcpy(memory + module + 0x400 + 7 * sizeof(uint32_t) + i * sizeof link, &link, sizeof link);
    memcpy(memory + module + 0x300 + at, name, strlen(name) + 1);
    return at + (uint32_t)strlen(name) + 1;
}

/* A module that exports what CPython does. */
static struct hd_module put_python(void) {
    const struct {
        const char *name;
        uint64_t address;
    } exports[] = {{minor < 11 ? "PyConfig_InitPythonConfig" : "Py_Version", VERSION},
                   {"_PyEval_EvalFrameDefault", EVAL},
                   {"PyCode_Type", CODE_TYPE},
                   {"PyUnicode_Type", STR_TYPE},
                   {"PyFrame_Type", FRAME_TYPE},
                   {"_PyRuntime", RUNTIME}};
    enum { COUNT = sizeof exports / sizeof exports[0] };
    uint64_t at = MODULE - BASE;
    const Elf64_Ehdr header = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3}, .e_phoff = sizeof header, .e_phnum = 1};
    const Elf64_Phdr program = {.p_type = PT_DYNAMIC, .p_vaddr = at + 0x100};
    const Elf64_Dyn dynamic[] = {{DT_SYMTAB, {.d_ptr = MODULE + 0x200}},
                                 {DT_STRTAB, {.d_ptr = MODULE + 0x300}},
                                 {DT_STRSZ, {.d_val = 0x100}},
                                 {DT_GNU_HASH, {.d_ptr = MODULE + 0x400}},
                                 {DT_NULL, {.d_val = 0}}};
    const uint32_t hash[] = {1, 1, 1, 0, UINT32_MAX, UINT32_MAX, 1}; /* one bucket: all from symbol 1 on */
    memcpy(memory + at, &header, sizeof header);
    memcpy(memory + at + sizeof header, &program, sizeof program);
    memcpy(memory + at + 0x100, dynamic, sizeof dynamic);
    memcpy(memory + at + 0x400, hash, sizeof hash);
    for (uint32_t i = 0, name = 1; i < COUNT; i++) {
        name = put_export(exports[i].name, name, exports[i].address, i, i + 1 == COUNT);
    }
    return (struct hd_module){.lo = BASE, .hi = BASE + BYTES, .bias = BASE, .header = MODULE};
}

/* ---- what a version has ----------------------------------------------------------------------- */

/* _Py_DebugOffsets: each word's index and value. */
static void put_description(void) {
    static const uint16_t of_313[][2] = {
        {5, 632},  {8, 80},   {9, 96},  {21, 8},   {23, 72},  {24, 152}, {25, 160}, {30, 0},  {29, 8},
        {31, 56},  {33, 70},  {39, 68}, {35, 112}, {37, 128}, {38, 136}, {43, 200}, {70, 40}, {14, 384},
        {10, 112}, {72, 200}, {45, 8},  {65, 16},  {66, 32},  {68, 32},  {69, 16}};
    static const uint16_t of_314[][2] = {
        {5, 672},  {8, 80},   {9, 96},  {24, 8},   {26, 72},  {27, 152}, {28, 160}, {33, 0},  {32, 8},
        {34, 56},  {36, 74},  {44, 68}, {40, 112}, {42, 128}, {43, 136}, {48, 208}, {80, 40}, {15, 384},
        {11, 112}, {82, 200}, {51, 8},  {75, 16},  {76, 32},  {78, 32},  {79, 16}};
    const uint16_t(*words)[2] = minor == 13 ? of_313 : of_314;
    put64(RUNTIME, UINT64_C(0x7970677562656478)); /* "xdebugpy" */
    put64(RUNTIME + 8, UINT64_C(0x03000000) | minor << 16 | 0x01f0);
    for (size_t i = 0; i < sizeof of_313 / sizeof of_313[0]; i++) {
        put64(RUNTIME + 8 * words[i][0], words[i][1]);
    }
}

static void put_version(void) {
    modules.module[0] = put_python();
    modules.count = 1;
    put64(VERSION, UINT64_C(0x03000000) | minor << 16 | 0x01f0);
    put64(FRAME_TYPE + PY_TYPE_BASICSIZE, minor == 10 ? 360 : 368);
    if (minor >= 13) {
        put_description();
    }
}

/* ---- objects -------------------------------------------------------------------------------- */

static void put_str(uint64_t at, unsigned kind, const void *data, size_t length) {
    unsigned wide = minor < 12 ? 24 : 16;
    put64(at + PY_TYPE, STR_TYPE);
    put64(at + PY_STR_LENGTH, length);
    memory[at + PY_STR_STATE - BASE] = (uint8_t)(kind << 2 | 0x20 | (kind == 1 ? 0x40 : 0) | 0x80);
    memcpy(memory + (at + layout.str_data + (kind == 1 ? 0 : wide) - BASE), data, length * kind);
}

#define FILE_STR (BASE + 0x200)
#define NAME(n) (BASE + 0x300 + (n)*0x80)
#define CODE(n) (BASE + 0x800 + (n)*0x180)
#define LINES(n) (CODE(n) + 0x120)
#define FRAME(n) (BASE + 0x4000 + (n)*0x80)
#define IN_C(n) (STACK + 0x100 * (n) + 0x40) /* in the C frame n: an entry frame, or a _PyCFrame */

/* A function whose first line is 10 (n + 1), with three instructions on that line, the next and the third
 * after. */
static void put_code(unsigned n, const char *name) {
    static const uint8_t lnotab[] = {2, 1, 2, 2}, ranges[] = {2, 0, 2, 1, 2, 2},
                         locations[] = {0x80 | 10 << 3 | 0, 0,     0, 0x80 | 11 << 3 | 0, 0, 0,
                                        0x80 | 13 << 3 | 0, 2 << 1};
    static const uint8_t *const tables[] = {lnotab, ranges, locations};
    static const size_t sizes[] = {sizeof lnotab, sizeof ranges, sizeof locations};
    put_str(NAME(n), 1, name, strlen(name));
    put64(CODE(n) + PY_TYPE, CODE_TYPE);
    put64(CODE(n) + PY_VAR_SIZE, 3);
    put32(CODE(n) + layout.code_first_line, 10 * (n + 1));
    put64(CODE(n) + layout.code_file, FILE_STR);
    put64(CODE(n) + layout.code_name, NAME(n));
    put64(CODE(n) + layout.code_lines, LINES(n));
    put64(LINES(n) + PY_VAR_SIZE, sizes[layout.lines]);
    memcpy(memory + (LINES(n) + PY_BYTES_DATA - BASE), tables[layout.lines], sizes[layout.lines]);
}

static void put_frame(unsigned n, unsigned code, unsigned unit, uint64_t back) {
    put64(FRAME(n) + layout.frame_code, CODE(code) | (minor >= 14));
    put64(FRAME(n) + layout.frame_back, back);
    if (layout.frames == PY_FRAME_OBJECTS) {
        put64(FRAME(n) + PY_TYPE, FRAME_TYPE);
        put32(FRAME(n) + layout.frame_at, minor < 10 ? unit * PY_UNIT_BYTES : unit);
    } else {
        put64(FRAME(n) + layout.frame_at, CODE(code) + layout.code_units + unit * PY_UNIT_BYTES);
        memory[FRAME(n) + layout.frame_owner - BASE] = 0;
    }
}

/* The last function of the C frame n, and the next one's first. */
static void put_end(unsigned n, unsigned last, uint64_t next) {
    if (layout.frames == PY_ENTRY_FRAME) {
        put64(FRAME(last) + layout.frame_back, IN_C(n));
        put64(IN_C(n) + layout.frame_back, next);
        memory[IN_C(n) + layout.frame_owner - BASE] = 3;
        return;
    }
    put64(FRAME(last) + layout.frame_back, next);
    if (layout.frames == PY_ENTRY_FLAG) {
        memory[FRAME(last) + layout.frame_owner - 1 - BASE] = 1;
    }
}

/* The innermost function; in 3.11 and 3.12 the thread has it in the C frame n. */
static void put_innermost(unsigned n, uint64_t frame) {
    put64(THREAD(0) + layout.thread_frame, frame);
    if (layout.cframe) {
        uint64_t record = IN_C(n) + (layout.frames == PY_ENTRY_FLAG ? 0 : 0x70);
        put64(THREAD(0) + layout.thread_frame, record);
        put64(record + layout.cframe_current, frame);
    }
}

static void put_thread(unsigned n, int tid, uint64_t next) {
    put64(THREAD(n) + layout.next_thread, next);
    put64(THREAD(n) + layout.thread_self, SELF);
    if (layout.thread_tid != 0) {
        put64(THREAD(n) + layout.thread_tid, (uint64_t)tid);
    }
}

/* sleep, called by python functions "inner" and "middle" in one call of the interpreter, called by a C
 * function, called by "outer" in another, called by main. */
static int set_up(void **state) {
    minor = state != NULL ? *(unsigned *)*state : minor;
    memset(memory, 0, sizeof memory);
    memset(&modules, 0, sizeof modules);
    modules.memory.read = read_memory;
    modules.find = find_nothing;
    put_version();
    assert_true(hd_cpython_layout_read(&modules, 0, &layout));
    hd_scripts_init(&scripts, &modules);
    put_str(FILE_STR, 1, "/srv/app.py", 11);
    put_code(0, "outer");
    put_code(1, "middle");
    put_code(2, "inner");
    put_frame(1, 0, 0, 0);
    put_frame(2, 1, 1, 0);
    put_frame(3, 2, 2, FRAME(2));
    put_end(1, 2, FRAME(1));
    put_end(3, 1, 0);
    if (layout.frames == PY_ENTRY_FLAG) {
        put64(IN_C(1) + PY_CFRAME_PREVIOUS_311, IN_C(3));
        put64(IN_C(3) + PY_CFRAME_PREVIOUS_311, ROOT);
    }
    put_innermost(1, FRAME(3));
    put64(RUNTIME + layout.interpreters, INTERPRETER);
    put64(INTERPRETER + layout.threads, THREAD(0));
    put_thread(0, TID, 0);
    put32(SELF + LIBC_TID, minor < 11 ? TID : 0);
    return 0;
}

static uint32_t expand_copy(uint32_t max, const uint8_t *copy) {
    static const uint64_t starts[] = {0x1000, EVAL, 0x2000, EVAL, 0x3000};
    for (unsigned i = 0; i < 5; i++) {
        frames[i] = (struct hd_frame){.pc = starts[i] + 5,
                                      .start = starts[i],
                                      .trust = HD_TRUST_CFI,
                                      .at = i == 4 ? STACK_BYTES : 0x100 * i};
    }
    const struct hd_script_stack stack = {.tid = TID, .bytes = copy, .address = STACK, .size = STACK_BYTES};
    return hd_scripts_expand(&scripts, frames, 5, max, &stack);
}

static uint32_t expand_up_to(uint32_t max) {
    return expand_copy(max, memory + (STACK - BASE));
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
    put64(CODE(2) + layout.code_file, at);
    put64(CODE(2) + layout.code_name, at);
    assert_int_equal(expand(), 8);
    assert_int_equal(strlen(hd_script_name(&scripts, &frames[1])), 120);
    assert_int_equal(strlen(hd_script_file(&scripts, &frames[1])), 240);
    assert_string_equal(hd_script_file(&scripts, &frames[1]) + 233, "/app.py");
}

static void a_cycle_of_frames_ends(void **state) {
    (void)state;
    put64(FRAME(2) + layout.frame_back, FRAME(3));
    if (layout.frames == PY_ENTRY_FLAG) {
        memory[FRAME(2) + layout.frame_owner - 1 - BASE] = 0;
    }
    reads = 0;
    assert_int_equal(expand(), layout.frames == PY_FRAME_OBJECTS ? 5 + HD_SCRIPT_FRAMES_MAX : 5);
    assert_true(reads < 10000);
}

static void a_list_that_leads_elsewhere_names_nothing_there(void **state) {
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        put_end(1, 2, i == 0 ? FRAME(9) : 0xdead0000);
        assert_int_equal(expand(), 7);
        check(1, "inner", 33, CODE(2));
        put64(FRAME(3) + layout.frame_back, i == 0 ? FRAME(9) : 0xdead0000);
        assert_int_equal(expand(), layout.frames == PY_FRAME_OBJECTS ? 6 : 5);
        put64(FRAME(3) + layout.frame_back, FRAME(2));
    }
}

/* In a greenlet: the interpreter's calls further out are those of who switched to it. */
static void a_list_that_ends_before_the_next_call_is_whole(void **state) {
    (void)state;
    put_end(1, 2, 0);
    assert_int_equal(expand(), 7);
    check(1, "inner", 33, CODE(2));
}

/* The thread ran on: the copy's frame is gone, and another one is there now. */
static void a_frame_that_is_gone_is_replaced_by_the_one_that_runs(void **state) {
    (void)state;
    uint8_t copy[STACK_BYTES];
    memcpy(copy, memory + (STACK - BASE), sizeof copy);
    put64(FRAME(3) + layout.frame_code, 0);
    put_innermost(1, FRAME(2));
    assert_int_equal(expand_copy(300, copy), 7);
    check(1, "middle", 21, CODE(1));
}

static void functions_of_a_call_since_the_copy_are_left_out(void **state) {
    (void)state;
    put_frame(4, 2, 0, 0);
    put_end(0, 4, FRAME(3));
    put_innermost(0, FRAME(4));
    const struct hd_script_stack stack = {
        .tid = TID, .bytes = memory + (STACK + 0x100 - BASE), .address = STACK + 0x100, .size = 0x300};
    expand(); /* makes the frames */
    for (unsigned i = 0; i < 4; i++) {
        static const uint64_t starts[] = {EVAL, 0x2000, EVAL, 0x3000};
        frames[i] = (struct hd_frame){.pc = starts[i] + 5, .start = starts[i], .at = 0x100 * i};
    }
    if (layout.frames == PY_ENTRY_FLAG) {
        put64(IN_C(0) + PY_CFRAME_PREVIOUS_311, IN_C(1));
    }
    bool counted = layout.frames == PY_FRAME_OBJECTS;
    assert_int_equal(hd_scripts_expand(&scripts, frames, 4, 300, &stack), counted ? 8 : 7);
    check(counted, "inner", 33, CODE(2));
    check(counted + 4, "outer", 10, CODE(0));
}

static void a_thread_is_found_among_others(void **state) {
    (void)state;
    put64(INTERPRETER + layout.threads, THREAD(1));
    put_thread(1, TID + 1, THREAD(0));
    put64(THREAD(1) + layout.thread_self, 0);
    assert_int_equal(expand(), 8);
    assert_int_equal(scripts.py.thread, THREAD(0));
    reads = 0;
    assert_int_equal(expand(), 8);
    assert_in_range(reads, 1, 16); /* it is known */
    put_thread(0, TID + 2, 0);
    put32(SELF + LIBC_TID, 0);
    assert_int_equal(expand(), 5);
    put64(THREAD(0) + layout.next_thread, THREAD(1)); /* a cycle */
    reads = 0;
    assert_int_equal(expand(), 5);
    assert_true(reads < 40000);
}

/* In a child of a fork the interpreter's note of the number is the parent's. */
static void after_a_fork_libcs_number_counts(void **state) {
    (void)state;
    put_thread(0, TID - 1, 0);
    put32(SELF + LIBC_TID, TID);
    assert_int_equal(expand(), 8);
}

/* The lock's record, and the collector's flag. */
static void the_thread_that_has_pythons_lock_is_known(void **state) {
    (void)state;
    const bool pointer = layout.frames == PY_ENTRY_FRAME;
    uint64_t gil = pointer ? BASE + 0x5000 : RUNTIME + layout.gil;
    uint64_t gc = (layout.gc_of_runtime ? RUNTIME : INTERPRETER) + layout.gc + layout.gc_collecting;
    int owner = 1;
    expand();
    if (pointer) {
        put64(INTERPRETER + layout.gil, gil);
    }
    put64(gil + PY_GIL_HOLDER, THREAD(0));
    put32(gil + PY_GIL_LOCKED, 1);
    put32(gc, 0);
    assert_true(hd_scripts_is_gil(&scripts, gil + PY_GIL_WAITS, &owner));
    assert_int_equal(owner, TID);
    assert_true(hd_scripts_is_gil(&scripts, gil + PY_GIL_BYTES - 4, &owner));
    assert_false(hd_scripts_is_gil(&scripts, gil + PY_GIL_BYTES, &owner));
    assert_false(hd_scripts_is_gil(&scripts, gil, &owner));
    assert_false(hd_scripts_collects(&scripts, TID));
    put32(gc, 1);
    assert_true(hd_scripts_collects(&scripts, TID));
    assert_false(hd_scripts_collects(&scripts, TID + 1)); /* another thread has the lock, and does */
    put32(gil + PY_GIL_LOCKED, 0);
    assert_false(hd_scripts_collects(&scripts, TID));
    assert_true(hd_scripts_is_gil(&scripts, gil + PY_GIL_WAITS, &owner));
    assert_int_equal(owner, 0);
}

static void what_is_no_code_or_no_string_names_nothing(void **state) {
    (void)state;
    const struct hd_cpython_layout *l = &layout;
    const struct {
        uint64_t at, value;
    } spoiled[] = {
        {CODE(2) + PY_TYPE, STR_TYPE},
        {CODE(2) + l->code_name, 0},
        {CODE(2) + l->code_name, UINT64_MAX - 3},
        {CODE(2) + l->code_file, CODE(1)},
        {NAME(2) + PY_STR_LENGTH, UINT64_MAX},
        {NAME(2) + PY_STR_STATE, 0},
        {NAME(2) + PY_TYPE, CODE_TYPE},
        {FRAME(3) + l->frame_code, UINT64_MAX - 7},
        {FRAME(3) + l->frame_code, 0},
        {l->cframe ? THREAD(0) + l->thread_frame : FRAME(3) + l->frame_code, 12},
        {FRAME(3) + (l->code_units == 0 ? PY_TYPE : l->frame_at), 0},
        {l->code_units == 0 ? FRAME(3) + PY_TYPE : CODE(2) + PY_VAR_SIZE, UINT64_MAX},
        {l->code_units == 0 ? FRAME(3) + PY_TYPE : CODE(2) + PY_VAR_SIZE, 0},
        {l->code_units == 0 ? FRAME(3) + PY_TYPE : FRAME(3) + l->frame_at, CODE(2) + l->code_units + 1},
        {l->code_units == 0 ? FRAME(3) + PY_TYPE : FRAME(3) + l->frame_at, CODE(2) + l->code_units + 6},
        {l->code_units == 0 ? FRAME(3) + PY_TYPE : FRAME(3) + l->frame_owner - 6, UINT64_MAX},
    };
    for (size_t i = 0; i < sizeof spoiled / sizeof spoiled[0]; i++) {
        set_up(NULL);
        put64(spoiled[i].at, spoiled[i].value);
        assert_int_equal(expand(), 5);
        set_up(NULL);
        assert_int_equal(expand(), 8);
    }
}

static void leaves_out_an_unknown_line(void **state) {
    (void)state;
    put64(LINES(2) + PY_VAR_SIZE, UINT64_MAX);
    assert_int_equal(expand(), 8);
    check(1, "inner", 0, CODE(2));
    set_up(NULL);
    static const uint8_t none[] = {0, 0x80, 0x80 | 15 << 3}; /* of lnotab none is known */
    if (layout.lines != PY_LNOTAB) {
        memory[LINES(2) + PY_BYTES_DATA + (layout.lines == PY_LOCATIONS ? 6 : 5) - BASE] = none[layout.lines];
        assert_int_equal(expand(), 8);
        check(1, "inner", 0, CODE(2));
    }
    set_up(NULL);
    memset(memory + (LINES(2) + PY_BYTES_DATA - BASE), 0x40, 8); /* columns without an entry, for ever */
    assert_int_equal(expand(), 8);
    assert_true(layout.lines != PY_LOCATIONS || frames[1].at == 0);
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

static void python_is_found_again_where_a_module_went_while_a_hang_is_on(void **state) {
    (void)state;
    struct hd_module python = modules.module[0];
    modules.module[0] = (struct hd_module){0};
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
        put32(CODE(2) + layout.code_first_line, 100 + i);
        memset(scripts.place, 0, sizeof scripts.place);
        assert_int_equal(expand(), 8);
        check(1, "inner", 103 + i, CODE(2));
    }
}

static void other_versions_are_not_read(void **state) {
    (void)state;
    struct hd_cpython_layout other;
    if (minor < 11) {
        put64(FRAME_TYPE + PY_TYPE_BASICSIZE, 376);
        assert_false(hd_cpython_layout_read(&modules, 0, &other));
        return;
    }
    for (uint64_t v = 0; v < 20; v++) {
        put64(VERSION, UINT64_C(0x03000000) | v << 16);
        assert_int_equal(hd_cpython_layout_read(&modules, 0, &other), v == 11 || v == 12);
    }
    put64(VERSION, UINT64_C(0x040c0000));
    assert_false(hd_cpython_layout_read(&modules, 0, &other));
}

/* Each word that matters out of its bounds: the table is not believed. */
static void a_description_that_is_no_good_is_not_believed(void **state) {
    (void)state;
    if (minor < 13) {
        return;
    }
    struct hd_cpython_layout other;
    unsigned refused = 0;
    for (unsigned i = 0; i < 83; i++) {
        uint64_t old;
        memcpy(&old, memory + (RUNTIME + 8 * i - BASE), sizeof old);
        put64(RUNTIME + 8 * i, UINT64_MAX);
        refused += !hd_cpython_layout_read(&modules, 0, &other);
        put64(RUNTIME + 8 * i, old);
    }
    assert_int_equal(refused, 25 + 3);
    put64(RUNTIME + 16, 1); /* free-threaded */
    assert_false(hd_cpython_layout_read(&modules, 0, &other));
}

static void bytes_of_any_kind_do_no_harm(void **state) {
    (void)state;
    for (int round = 0; round < 5000; round++) {
        set_up(NULL);
        for (int i = 0; i < 8; i++) {
            static const uint64_t like[] = {CODE_TYPE, STR_TYPE, FRAME(1), FRAME(3),  CODE(1),
                                            NAME(1),   IN_C(3),  ROOT,     THREAD(0), FRAME_TYPE};
            static const uint64_t hurts[] = {FRAME(1), FRAME(2),  FRAME(3), CODE(0), CODE(1),
                                             CODE(2),  THREAD(0), IN_C(1),  IN_C(3), RUNTIME};
            uint64_t at = (uint64_t)(any(BYTES / 8)) * 8;
            uint64_t v = any(2) ? like[any(10)] : (uint64_t)any(UINT32_MAX) << (any(40));
            if (i < 4) { /* where it hurts */
                at = hurts[any(10)] - BASE + (uint64_t)(any(23)) * 8;
            }
            memcpy(memory + at, &v, sizeof v);
        }
        reads = 0;
        uint32_t count = expand();
        assert_in_range(count, 5, 5 + HD_SCRIPT_FRAMES_MAX);
        assert_true(reads < 40000);
        for (uint32_t i = 0; i < count; i++) {
            if (frames[i].script != 0) {
                assert_true(strlen(hd_script_name(&scripts, &frames[i])) < HD_SCRIPT_STRINGS_BYTES);
                assert_true(strlen(hd_script_file(&scripts, &frames[i])) < HD_SCRIPT_STRINGS_BYTES);
            }
        }
    }
}

static unsigned versions[] = {8, 10, 11, 12, 13, 14};

#define EACH_VERSION(test)                                                                               \
    {#test " 3.8", test, set_up, NULL, &versions[0]}, {#test " 3.10", test, set_up, NULL, &versions[1]}, \
        {#test " 3.11", test, set_up, NULL, &versions[2]},                                               \
        {#test " 3.12", test, set_up, NULL, &versions[3]},                                               \
        {#test " 3.13", test, set_up, NULL, &versions[4]}, {                                             \
#test " 3.14", test, set_up, NULL, &versions[5]                                                  \
    }

int main(void) {
    const struct CMUnitTest tests[] = {
        EACH_VERSION(functions_stand_before_the_call_that_ran_them),
        EACH_VERSION(room_ends_where_it_ends),
        EACH_VERSION(names_of_any_script_are_utf_8),
        EACH_VERSION(a_long_name_is_cut_and_of_a_long_path_the_end_is_kept),
        EACH_VERSION(a_cycle_of_frames_ends),
        EACH_VERSION(a_list_that_leads_elsewhere_names_nothing_there),
        EACH_VERSION(a_list_that_ends_before_the_next_call_is_whole),
        EACH_VERSION(a_frame_that_is_gone_is_replaced_by_the_one_that_runs),
        EACH_VERSION(functions_of_a_call_since_the_copy_are_left_out),
        EACH_VERSION(a_thread_is_found_among_others),
        EACH_VERSION(after_a_fork_libcs_number_counts),
        EACH_VERSION(the_thread_that_has_pythons_lock_is_known),
        EACH_VERSION(what_is_no_code_or_no_string_names_nothing),
        EACH_VERSION(leaves_out_an_unknown_line),
        EACH_VERSION(a_full_table_leaves_functions_out_until_it_is_emptied),
        EACH_VERSION(python_is_found_again_where_a_module_went_while_a_hang_is_on),
        EACH_VERSION(more_than_three_hundred_functions_of_a_turn_are_named),
        EACH_VERSION(other_versions_are_not_read),
        EACH_VERSION(a_description_that_is_no_good_is_not_believed),
        EACH_VERSION(bytes_of_any_kind_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
