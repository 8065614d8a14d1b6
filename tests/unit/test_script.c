/* SPDX-License-Identifier: MIT
 *
 * CPython's frames in memory that we made, as each version lays them out: named where all fits together.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "script_memory.h"

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

static void functions_of_a_later_moment_are_dropped(void **state) {
    (void)state;
    assert_int_equal(expand(), 8);
    assert_int_equal(hd_scripts_drop_changed(&scripts, frames, 8), 5);
    assert_int_equal(frames[1].start, EVAL);
    assert_int_equal(frames[2].start, 0x2000);
    assert_int_equal(expand(), 8);
    scripts.script[frames[1].script - 1].language =
        HD_SCRIPT_JAVASCRIPT; /* read from the copy of the stack */
    assert_int_equal(hd_scripts_drop_changed(&scripts, frames, 8), 6);
    check(1, "inner", 33, CODE(2));
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
        EACH_VERSION(functions_of_a_later_moment_are_dropped),
        EACH_VERSION(a_thread_is_found_among_others),
        EACH_VERSION(after_a_fork_libcs_number_counts),
        EACH_VERSION(the_thread_that_has_pythons_lock_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
