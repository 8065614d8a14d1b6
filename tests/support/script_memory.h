/* SPDX-License-Identifier: MIT
 *
 * For tests of CPython's frames: an interpreter in memory that we made, as each version lays it out. Included
 * after cmocka.h.
 */
#ifndef TEST_SCRIPT_MEMORY_H
#define TEST_SCRIPT_MEMORY_H

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

static inline int read_memory(void *ctx, uint64_t address, void *out, size_t n) {
    (void)ctx;
    reads++;
    if (address < BASE || address - BASE > BYTES || n > BYTES - (address - BASE)) {
        return -EFAULT;
    }
    memcpy(out, memory + (address - BASE), n);
    return 0;
}

static inline int find_nothing(struct hd_modules *m, uint64_t pc, struct hd_module *out, char *path,
                               size_t bytes) {
    (void)m, (void)pc, (void)out, (void)path, (void)bytes;
    return -ENOENT;
}

static inline void put64(uint64_t address, uint64_t v) {
    memcpy(memory + (address - BASE), &v, sizeof v);
}

static inline void put32(uint64_t address, uint32_t v) {
    memcpy(memory + (address - BASE), &v, sizeof v);
}

/* ---- a module ------------------------------------------------------------------------------- */

static inline uint32_t put_export(const char *name, uint32_t at, uint64_t address, uint32_t i, bool last) {
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
static inline struct hd_module put_python(void) {
    const struct {
        const char *name;
        uint64_t address;
    } exports[] = {{minor < 11 ? "PyConfig_InitPythonConfig" : "Py_Version", VERSION},
                   {"_PyEval_EvalFrameDefault", EVAL},
                   {"PyCode_Type", CODE_TYPE},
                   {"PyUnicode_Type", STR_TYPE},
                   {"PyFrame_Type", FRAME_TYPE},
                   {"_PyRuntime", RUNTIME}};
    enum {
        COUNT = sizeof exports / sizeof exports[0]
    };
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
static inline void put_description(void) {
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

static inline void put_version(void) {
    modules.module[0] = put_python();
    modules.count = 1;
    put64(VERSION, UINT64_C(0x03000000) | minor << 16 | 0x01f0);
    put64(FRAME_TYPE + PY_TYPE_BASICSIZE, minor == 10 ? 360 : 368);
    if (minor >= 13) {
        put_description();
    }
}

/* ---- objects -------------------------------------------------------------------------------- */

static inline void put_str(uint64_t at, unsigned kind, const void *data, size_t length) {
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
static inline void put_code(unsigned n, const char *name) {
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

static inline void put_frame(unsigned n, unsigned code, unsigned unit, uint64_t back) {
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
static inline void put_end(unsigned n, unsigned last, uint64_t next) {
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
static inline void put_innermost(unsigned n, uint64_t frame) {
    put64(THREAD(0) + layout.thread_frame, frame);
    if (layout.cframe) {
        uint64_t record = IN_C(n) + (layout.frames == PY_ENTRY_FLAG ? 0 : 0x70);
        put64(THREAD(0) + layout.thread_frame, record);
        put64(record + layout.cframe_current, frame);
    }
}

static inline void put_thread(unsigned n, int tid, uint64_t next) {
    put64(THREAD(n) + layout.next_thread, next);
    put64(THREAD(n) + layout.thread_self, SELF);
    if (layout.thread_tid != 0) {
        put64(THREAD(n) + layout.thread_tid, (uint64_t)tid);
    }
}

/* sleep, called by python functions "inner" and "middle" in one call of the interpreter, called by a C
 * function, called by "outer" in another, called by main. */
static inline int set_up(void **state) {
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

static inline uint32_t expand_copy(uint32_t max, const uint8_t *copy) {
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

static inline uint32_t expand_up_to(uint32_t max) {
    return expand_copy(max, memory + (STACK - BASE));
}

static inline uint32_t expand(void) {
    return expand_up_to(300);
}

static inline void check(uint32_t i, const char *name, uint32_t line, uint64_t start) {
    assert_int_not_equal(frames[i].script, 0);
    assert_string_equal(hd_script_name(&scripts, &frames[i]), name);
    assert_string_equal(hd_script_file(&scripts, &frames[i]), "/srv/app.py");
    assert_int_equal(frames[i].at, line);
    assert_int_equal(frames[i].start, start);
    assert_int_equal(frames[i].pc, EVAL + 5);
}

static unsigned versions[] = {8, 10, 11, 12, 13, 14};

#define EACH_VERSION(test)                                                                               \
    {#test " 3.8", test, set_up, NULL, &versions[0]}, {#test " 3.10", test, set_up, NULL, &versions[1]}, \
        {#test " 3.11", test, set_up, NULL, &versions[2]},                                               \
        {#test " 3.12", test, set_up, NULL, &versions[3]},                                               \
        {#test " 3.13", test, set_up, NULL, &versions[4]}, {                                             \
        #test " 3.14", test, set_up, NULL, &versions[5]                                                  \
    }

#endif
