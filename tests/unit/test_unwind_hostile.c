/* SPDX-License-Identifier: MIT
 *
 * Made-up stacks and corrupt bytes: every walk ends, with a reason, and reads nothing that it was not given.
 * The sanitizers watch: stack copies are heap blocks of exactly their size.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "chance.h"
#include "unwind/arch/arch.h"
#include "unwind/cfa.h"
#include "unwind/eh_index.h"
#include "unwind/unwind.h"
#include "unwind_bytes.h"

#define STACK_AT UINT64_C(0x7fff00000000)
#define STACK_WORDS 512u
#define FRAMES 64u
#define FP (unsigned char)BYTES_FP[0]
#define SAVED (unsigned char)BYTES_SAVED[0]
#define ARGUMENT (unsigned char)BYTES_ARGUMENT[0]

static struct unwind_bytes b, pristine;
static struct hd_unwinder *unwinder;
static uint64_t *stack;
static struct hd_frame frames[FRAMES];
static struct hd_walk walk;

/* Functions, 0x100 bytes each from CODE_AT on. */
enum {
    BY_SP,
    BY_FP,
    BY_EXPRESSION,
    SIGNAL,
    ROOT,
    SAME_SP,
    BACKWARDS,
    EPILOGUE,
    BY_SAVED,
    IN_ARGUMENT,
    NOTHING
};

static uint64_t in(unsigned function) {
    return CODE_AT + function * 0x100u + 0x40;
}

static void function(unsigned which, const char *code, size_t n) {
    bytes_fde_begin(&b, CODE_AT + which * 0x100u, 0x100);
    bytes_put(&b, code, n);
    bytes_record_end(&b);
}
#define FUNCTION(which, code) function(which, code, sizeof(code) - 1)

static int set_up(void **state) {
    (void)state;
    bytes_init(&b);
    bytes_cie_of_cpu(&b, false);
    FUNCTION(BY_SP, "\x0e\x20" BYTES_SAVED_AT "\x02");
    FUNCTION(BY_FP, "\x0c" BYTES_FP "\x10" BYTES_FP_AT "\x02");
    FUNCTION(BY_EXPRESSION, "\x0f\x03" BYTES_FROM_SP "\x08\x06"); /* CFA is what [sp+8] says */
    bytes_cie_of_cpu(&b, true);
    FUNCTION(SIGNAL, "\x0f\x02" BYTES_FROM_SP "\x20\x10" BYTES_RA "\x02" BYTES_FROM_SP "\x00\x10" BYTES_SP
                     "\x02" BYTES_FROM_SP "\x08\x10" BYTES_FP "\x02" BYTES_FROM_SP "\x10");
    bytes_cie_of_cpu(&b, false);
    FUNCTION(ROOT, "\x07" BYTES_RA);
    FUNCTION(SAME_SP, "\x0e\x00");
    FUNCTION(BACKWARDS, "\x12" BYTES_SP "\x01"); /* CFA = sp - 8 */
    FUNCTION(EPILOGUE, "\x0c" BYTES_FP "\x10" BYTES_FP_AT "\x02" BYTES_SAVED_AT "\x07");
    FUNCTION(BY_SAVED, "\x0c" BYTES_SAVED "\x08");                                       /* CFA = saved + 8 */
    FUNCTION(IN_ARGUMENT, "\x0e\x00\x09" BYTES_RA BYTES_ARGUMENT "\x08" BYTES_ARGUMENT); /* CFA = sp */
    bytes_finish(&b, true);
    pristine = b;
    unwinder = aligned_alloc(64, (hd_unwinder_bytes() + 63) / 64 * 64);
    stack = calloc(STACK_WORDS, 8);
    hd_unwinder_init(unwinder, &b.modules);
    return unwinder == NULL || stack == NULL;
}

static int tear_down(void **state) {
    (void)state;
    free(unwinder);
    free(stack);
    return 0;
}

static void run(uint64_t pc, uint64_t sp, uint64_t fp, uint64_t valid) {
    struct hd_regs regs = {.pc = pc, .sp = sp, .valid = valid};
    regs.r[FP] = fp;
    hd_unwind(unwinder, &regs, (const uint8_t *)stack, STACK_AT, STACK_WORDS * 8, 0, frames, FRAMES, &walk);
}

static void a_made_up_stack_is_walked(void **state) {
    (void)state;
    stack[3] = in(BY_FP);          /* BY_SP: CFA = sp + 32 */
    stack[2] = 77;                 /* its saved register */
    stack[10] = STACK_AT + 30 * 8; /* BY_FP at word 10 */
    stack[11] = in(BY_EXPRESSION);
    stack[13] = STACK_AT + 20 * 8; /* sp is word 12, [sp+8] says word 20 */
    stack[19] = in(SIGNAL);
    stack[20] = in(BY_FP); /* saved context: pc, sp, fp */
    stack[21] = STACK_AT + 29 * 8;
    stack[22] = STACK_AT + 30 * 8;
    stack[31] = in(ROOT);
    run(in(BY_SP), STACK_AT, STACK_AT + 10 * 8, 1u << FP);
    assert_int_equal(walk.stop, HD_STOP_ROOT);
    assert_int_equal(walk.count, 6);
    static const uint8_t trusts[] = {HD_TRUST_CONTEXT, HD_TRUST_CFI,    HD_TRUST_CFI,
                                     HD_TRUST_CFI,     HD_TRUST_SIGNAL, HD_TRUST_CFI};
    static const unsigned functions[] = {BY_SP, BY_FP, BY_EXPRESSION, SIGNAL, BY_FP, ROOT};
    for (unsigned i = 0; i < 6; i++) {
        assert_int_equal(frames[i].trust, trusts[i]);
        assert_true(frames[i].pc == in(functions[i]));
        assert_true(frames[i].start == CODE_AT + functions[i] * 0x100u);
    }
    assert_true(walk.root == CODE_AT + ROOT * 0x100u);
}

static void the_pc_after_a_signal_is_not_a_return_address(void **state) {
    (void)state;
    stack[0] = CODE_AT + ROOT * 0x100u; /* the first instruction of ROOT: one before is another function */
    stack[1] = STACK_AT + 64;
    run(in(SIGNAL), STACK_AT, 0, 0);
    assert_int_equal(walk.stop, HD_STOP_ROOT);
    assert_int_equal(walk.count, 2);
    assert_true(walk.root == CODE_AT + ROOT * 0x100u);
}

static void a_register_that_was_popped_is_itself_again(void **state) {
    (void)state;
    struct hd_regs regs = {.pc = in(EPILOGUE), .sp = STACK_AT, .valid = 1u << FP | 1u << SAVED};
    regs.r[FP] = STACK_AT; /* pop of fp and ret to come: all else is below the copy */
    regs.r[SAVED] = STACK_AT + 40;
    stack[0] = STACK_AT + 100 * 8;
    stack[1] = in(BY_SAVED); /* which needs the register that was popped */
    stack[5] = in(ROOT);
    hd_unwind(unwinder, &regs, (const uint8_t *)stack, STACK_AT, STACK_WORDS * 8, 0, frames, FRAMES, &walk);
    assert_int_equal(walk.stop, HD_STOP_ROOT);
    assert_int_equal(walk.count, 3);
    assert_true(frames[2].pc == in(ROOT));
}

static void a_zero_return_address_is_the_root(void **state) {
    (void)state;
    run(in(BY_SP), STACK_AT, 0, 0);
    assert_int_equal(walk.stop, HD_STOP_ROOT);
    assert_int_equal(walk.count, 1);
    assert_true(walk.root == CODE_AT + BY_SP * 0x100u);
}

static void a_stack_that_does_not_grow_stops_the_walk(void **state) {
    (void)state;
    stack[7] = in(SAME_SP);
    run(in(SAME_SP), STACK_AT + 64, 0, 0);
    assert_int_equal(walk.stop, HD_STOP_NO_PROGRESS);
    assert_int_equal(walk.count, HD_ARCH_LEAF_KEEPS_SP ? 2 : 1); /* the innermost frame may be a leaf's */
    run(in(BACKWARDS), STACK_AT + 64, 0, 0);
    assert_int_equal(walk.stop, HD_STOP_NO_PROGRESS);
    stack[8] = in(BY_FP); /* BY_SP's caller, and its frame pointer is below */
    stack[2] = STACK_AT;
    run(in(BY_SP), STACK_AT + 5 * 8, STACK_AT, 1u << FP);
    assert_int_equal(walk.stop, HD_STOP_NO_PROGRESS);
    assert_int_equal(walk.count, 2);
}

static void run_in_argument(uint64_t argument, uint64_t valid) {
    struct hd_regs regs = {.pc = in(IN_ARGUMENT), .sp = STACK_AT, .valid = valid};
    regs.r[ARGUMENT] = argument;
    hd_unwind(unwinder, &regs, (const uint8_t *)stack, STACK_AT, STACK_WORDS * 8, 0, frames, FRAMES, &walk);
}

/* As in the C library's vfork: the innermost frame may have nothing left on the stack, but no other. */
static void a_return_address_in_a_register_leads_on_once(void **state) {
    (void)state;
    stack[3] = in(ROOT);
    run_in_argument(in(BY_SP), 1u << ARGUMENT);
    assert_int_equal(walk.stop, HD_STOP_ROOT);
    assert_int_equal(walk.count, 3);
    assert_true(frames[1].pc == in(BY_SP) && frames[2].pc == in(ROOT));
    run_in_argument(in(IN_ARGUMENT), 1u << ARGUMENT);
    assert_int_equal(walk.stop, HD_STOP_NO_PROGRESS);
    assert_int_equal(walk.count, 2);
    run_in_argument(in(BY_SP), 0);
    assert_int_equal(walk.stop, HD_STOP_NO_UNWIND_INFORMATION);
    assert_int_equal(walk.count, 1);
}

static void stacks_outside_of_the_copy_are_unreadable(void **state) {
    (void)state;
    static const uint64_t sps[] = {0,
                                   8,
                                   STACK_AT - 64,
                                   STACK_AT + STACK_WORDS * 8 - 24,
                                   STACK_AT + STACK_WORDS * 8,
                                   STACK_AT + STACK_WORDS * 8 + 8,
                                   UINT64_MAX - 40,
                                   UINT64_MAX};
    for (unsigned i = 0; i < sizeof sps / sizeof *sps; i++) {
        run(in(BY_SP), sps[i], 0, 0);
        assert_int_equal(walk.count, 1);
        assert_true(walk.stop == HD_STOP_UNREADABLE ||
                    (walk.stop == HD_STOP_NO_PROGRESS && sps[i] > UINT64_MAX - 64));
    }
}

static void a_ring_of_signal_frames_ends_at_the_limit(void **state) {
    (void)state;
    stack[0] = in(SIGNAL);
    stack[1] = STACK_AT;
    run(in(SIGNAL), STACK_AT, 0, 0);
    assert_int_equal(walk.stop, HD_STOP_LIMIT);
    assert_int_equal(walk.count, FRAMES);
    assert_int_equal(walk.count + walk.cut, 65536);
}

static void code_that_nothing_describes_stops_the_walk(void **state) {
    (void)state;
    memset(stack, 0x41, STACK_WORDS * 8);
    run(in(NOTHING), STACK_AT, STACK_AT + 64, 1u << FP);
    assert_int_equal(walk.stop, HD_STOP_NO_UNWIND_INFORMATION);
    run(UINT64_C(0x123456789), STACK_AT, STACK_AT + 64, 1u << FP);
    assert_int_equal(walk.stop, HD_STOP_NO_UNWIND_INFORMATION);
    for (uint64_t pc = 0; pc < 3; pc++) {
        run(pc, STACK_AT, STACK_AT + 64, 1u << FP);
        assert_int_equal(walk.count, 1);
    }
    run(UINT64_MAX, STACK_AT, STACK_AT + 64, 0);
    assert_int_equal(walk.count, 1);
}

/* Words that look like what stacks hold. */
static uint64_t stack_word(void) {
    switch (next_random() % 8) {
    case 0:
        return 0;
    case 1:
        return next_random();
    case 2:
    case 3:
        return STACK_AT + next_random() % (STACK_WORDS * 8);
    case 4:
        return STACK_AT + next_random() % STACK_WORDS * 8;
    default:
        return CODE_AT + next_random() % 0x800;
    }
}

static void walk_random_stacks(unsigned rounds) {
    for (unsigned i = 0; i < rounds; i++) {
        for (unsigned k = 0; k < STACK_WORDS; k++) {
            stack[k] = stack_word();
        }
        run(stack_word(), stack_word(), stack_word(), next_random() & 0xff7f);
        assert_true(walk.count <= FRAMES && walk.count >= 1);
        assert_true(walk.stop <= HD_STOP_LIMIT);
    }
}

static void random_stacks_end(void **state) {
    (void)state;
    seed = 88172645463325252u;
    walk_random_stacks(20000);
}

static void mutated_tables_end(void **state) {
    (void)state;
    seed = 362436069362436069u;
    for (unsigned round = 0; round < 3000; round++) {
        memcpy(b.data, pristine.data, sizeof b.data);
        for (uint64_t n = next_random() % 8 + 1; n > 0; n--) {
            b.data[next_random() % b.used] = (uint8_t)next_random();
        }
        b.readable = next_random() % 4 == 0 ? next_random() % b.used : b.used;
        hd_modules_reset(&b.modules);
        hd_unwinder_flush(unwinder);
        walk_random_stacks(2);
        for (unsigned f = 0; f <= NOTHING; f++) {
            run(in(f), STACK_AT, STACK_AT + 64, next_random());
        }
    }
}

/* Instructions of nothing but noise, in a record of the right form. */
static void random_programs_end(void **state) {
    static struct hd_cfa_scratch scratch;
    static struct hd_eh_index index;
    static struct hd_row row;
    (void)state;
    seed = 521288629521288629u;
    for (unsigned round = 0; round < 20000; round++) {
        bytes_init(&b);
        bytes_cie_of_cpu(&b, round % 2 != 0);
        bytes_fde_begin(&b, CODE_AT, 0x100);
        for (uint64_t n = next_random() % 64; n > 0; n--) {
            bytes_u8(&b, (unsigned)next_random() & (round % 3 == 0 ? 0x3f : 0xff));
        }
        bytes_record_end(&b);
        bytes_finish(&b, round % 5 != 0);
        hd_unwinder_flush(unwinder);
        for (uint64_t pc = CODE_AT; pc < CODE_AT + 0x100; pc += 17) {
            struct hd_eh_table table;
            struct hd_fde fde;
            assert_int_equal(hd_eh_table_open(&b.modules.memory, b.hdr, CODE_END, &table), 0);
            index.frames = 0;
            assert_int_equal(table.entries != 0
                                 ? hd_eh_table_find(&b.modules.memory, &table, pc, &fde)
                                 : hd_eh_index_find(&index, &b.modules.memory, &table, pc, &fde),
                             0);
            int rc = hd_cfa_row(&b.modules.memory, &fde, pc, &scratch, &row);
            if (rc == 0) {
                assert_true(row.start <= pc && row.stop > pc && row.stop <= fde.stop);
            }
        }
        walk_random_stacks(1);
    }
}

#define GARBAGE UINT64_C(0x550000000000)

static struct hd_memory given;
static unsigned reads, read_there;

static int read_and_count(void *ctx, uint64_t addr, void *dst, size_t n) {
    read_there += addr >= GARBAGE - 8 && addr < GARBAGE + STACK_WORDS * 16;
    return given.read(ctx, addr, dst, n);
}

static bool nothing_was_touched(void *ctx, uint64_t addr) {
    (void)ctx;
    reads += addr >= GARBAGE - 8 && addr < GARBAGE + STACK_WORDS * 16;
    return false;
}

/* The frame pointer is lost, and each word of the stack may be the return address. */
static void look_up_a_stack_of_garbage(bool (*touched)(void *, uint64_t)) {
    reads = read_there = 0;
    b.modules.memory = (struct hd_memory){.read = read_and_count, .touched = touched, .ctx = given.ctx};
    hd_unwinder_init(unwinder, &b.modules);
    for (unsigned i = 0; i < STACK_WORDS; i++) {
        stack[i] = GARBAGE + UINT64_C(16) * i;
    }
    run(in(BY_FP), STACK_AT, 0, 0);
    b.modules.memory = given;
}

/* The kernel would lock the memory map to say that nothing is there. */
static void what_was_never_touched_is_not_read_for_a_guess(void **state) {
    (void)state;
    given = b.modules.memory;
    look_up_a_stack_of_garbage(NULL);
    assert_true(read_there > 100);
    look_up_a_stack_of_garbage(nothing_was_touched);
    assert_true(reads > 100);
    assert_int_equal(read_there, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_made_up_stack_is_walked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_pc_after_a_signal_is_not_a_return_address, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_register_that_was_popped_is_itself_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_zero_return_address_is_the_root, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_stack_that_does_not_grow_stops_the_walk, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_return_address_in_a_register_leads_on_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(stacks_outside_of_the_copy_are_unreadable, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_ring_of_signal_frames_ends_at_the_limit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(code_that_nothing_describes_stops_the_walk, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_was_never_touched_is_not_read_for_a_guess, set_up, tear_down),
        cmocka_unit_test_setup_teardown(random_stacks_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(mutated_tables_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(random_programs_end, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
