/* SPDX-License-Identifier: MIT
 *
 * CPython's frames where memory is torn, cyclic or garbage: they end, name nothing that is not there, and
 * read nothing that cannot be read.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "script_memory.h"

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

int main(void) {
    const struct CMUnitTest tests[] = {
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
