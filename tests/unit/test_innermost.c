/* SPDX-License-Identifier: MIT
 *
 * The caller at each instruction of small functions for both CPUs: prologue, body, epilogue, two ways of
 * which only one makes a frame, code moved out of a prologue, stubs. Code for both is read on each.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "unwind/macho/innermost.h"

#define START UINT64_C(0x104001000)
#define CODE_BYTES 256u
#define OUTLINED 128u /* an offset in the code, behind the function */
#define TOP UINT64_C(0x170000800)
#define STACK_BYTES 0x800u
#define CALLER_SP (TOP - 0x100)
#define CALLER_FP (TOP - 0x80)
#define RA UINT64_C(0x105000010)

static uint8_t code[CODE_BYTES];
static uint64_t words[STACK_BYTES / 8];
static struct hd_regs regs, next;
static struct hd_stack stack;
static struct hd_innermost in;
static uint64_t call_target; /* of the call before RA */

static int read_code(void *ctx, uint64_t addr, void *dst, size_t n) {
    (void)ctx;
    if (addr < START - 16 || addr + n > START + CODE_BYTES) {
        return -EFAULT;
    }
    for (size_t i = 0; i < n; i++) {
        ((uint8_t *)dst)[i] = addr + i < START ? 0xcc : code[addr + i - START];
    }
    return 0;
}

static const struct hd_memory memory = {.read = read_code};

static bool follows_call(void *ctx, uint64_t ra, uint64_t *target) {
    (void)ctx;
    *target = ra == RA ? call_target : 0;
    return ra == RA || ra == RA + 0x100;
}

static void put(uint64_t address, uint64_t value) {
    words[(address - (TOP - STACK_BYTES)) / 8] = value;
}

/* A function of `bytes` bytes, entered by a call that returns to RA. */
static void set_up_function(const void *from, size_t bytes, uint8_t kind) {
    memset(code, 0, sizeof code);
    memcpy(code, from, bytes);
    memset(words, 0xdd, sizeof words);
    memset(&regs, 0, sizeof regs);
    regs.valid = UINT64_C(0xffffffff);
    regs.pc = START;
    call_target = 0;
    put(CALLER_FP, CALLER_FP + 0x20);
    put(CALLER_FP + 8, RA + 0x100);
    stack =
        (struct hd_stack){.bytes = (const uint8_t *)words, .address = TOP - STACK_BYTES, .size = STACK_BYTES};
    in = (struct hd_innermost){.memory = &memory,
                               .stack = &stack,
                               .regs = &regs,
                               .start = START,
                               .stop = START + bytes,
                               .kind = kind,
                               .follows_call = follows_call};
}

static void expect_caller(unsigned fp, unsigned reg, uint64_t value) {
    assert_true(next.pc == RA && next.sp == CALLER_SP && next.r[fp] == CALLER_FP);
    assert_true((next.valid >> fp & 1) != 0 && (next.valid >> reg & 1) != 0 && next.r[reg] == value);
}

/* ---- arm64 ----------------------------------------------------------------------------------- */

#define X19 UINT64_C(0xc19)
#define X20 UINT64_C(0xc20)

static const uint32_t arm_function[] = {
    0xa9be4ff4, /* stp x20, x19, [sp, #-32]! */
    0xa9017bfd, /* stp x29, x30, [sp, #16] */
    0x910043fd, /* add x29, sp, #16 */
    0xaa0003f3, /* mov x19, x0 */
    0x94000010, /* bl elsewhere */
    0xa9417bfd, /* ldp x29, x30, [sp, #16] */
    0xa8c24ff4, /* ldp x20, x19, [sp], #32 */
    0xd65f03c0, /* ret */
};

static void arm_enter(const uint32_t *from, size_t bytes, uint8_t kind) {
    set_up_function(from, bytes, kind);
    regs.sp = CALLER_SP;
    regs.r[19] = X19;
    regs.r[20] = X20;
    regs.r[29] = CALLER_FP;
    regs.r[30] = RA;
}

/* The thread behind `count` instructions of arm_function. */
static void arm_at(unsigned count, uint64_t ra) {
    arm_enter(arm_function, sizeof arm_function, HD_COMPACT_FRAME);
    regs.r[30] = ra;
    regs.pc = START + 4 * count;
    if (count >= 1 && count < 7) {
        regs.sp -= 32;
        put(CALLER_SP - 32, X20);
        put(CALLER_SP - 24, X19);
    }
    if (count >= 2) {
        put(CALLER_SP - 16, CALLER_FP);
        put(CALLER_SP - 8, ra);
    }
    if (count >= 3 && count < 6) {
        regs.r[29] = CALLER_SP - 16;
    }
    if (count >= 4 && count < 7) {
        regs.r[19] = 5;
    }
    if (count == 5) {
        regs.r[30] = START + 20;
    }
}

static void arm_each_instruction(void **state) {
    (void)state;
    for (unsigned i = 0; i < 8; i++) {
        arm_at(i, RA);
        assert_int_equal(hd_innermost_aarch64(&in, &next), HD_INNERMOST_CALLER);
        expect_caller(29, 19, X19);
        assert_true(next.r[20] == X20 && (next.valid >> 30 & 1) == 0);
    }
}

/* The return address in x30 is in the function itself, although the frame is not made. */
static void arm_recursion(void **state) {
    (void)state;
    for (unsigned i = 0; i < 8; i++) {
        arm_at(i, START + 20);
        assert_int_equal(hd_innermost_aarch64(&in, &next), HD_INNERMOST_CALLER);
        assert_true(next.pc == START + 20 && next.sp == CALLER_SP && next.r[29] == CALLER_FP);
    }
}

/* With an authentication code in the stored x30. */
static void arm_signed_return(void **state) {
    (void)state;
    arm_at(5, RA | UINT64_C(0x15a5b) << 47);
    assert_int_equal(hd_innermost_aarch64(&in, &next), HD_INNERMOST_CALLER);
    expect_caller(29, 19, X19);
}

/* The code says nothing: the values do. */
static void arm_values(void **state) {
    static const uint32_t body[] = {0x94000010, 0xd4200020, 0xd4200020}; /* bl; brk; brk */
    (void)state;
    arm_enter(body, sizeof body, HD_COMPACT_FRAME);
    regs.pc += 8;
    assert_int_equal(hd_innermost_aarch64(&in, &next), HD_INNERMOST_CALLER); /* no frame yet */
    expect_caller(29, 19, X19);
    regs.r[30] = START + 4; /* a call has returned: there is a frame */
    assert_int_equal(hd_innermost_aarch64(&in, &next), HD_INNERMOST_RULE);
    regs.r[30] = RA + 0x100; /* the frame record has the same address */
    assert_int_equal(hd_innermost_aarch64(&in, &next), HD_INNERMOST_RULE);
    regs.r[30] = 42; /* data */
    assert_int_equal(hd_innermost_aarch64(&in, &next), HD_INNERMOST_RULE);
    in.kind = HD_COMPACT_FRAMELESS;
    regs.r[30] = RA;
    assert_int_equal(hd_innermost_aarch64(&in, &next), HD_INNERMOST_RULE);
    in.stub = true;
    assert_int_equal(hd_innermost_aarch64(&in, &next), HD_INNERMOST_CALLER);
    regs.valid = 0;
    assert_int_equal(hd_innermost_aarch64(&in, &next), HD_INNERMOST_RULE);
}

static void arm_two_ways(void **state) {
    static const uint32_t wrapped[] = {
        0xb4000060, /* cbz x0, to the stp */
        0xd503201f, /* nop */
        0xd65f03c0, /* ret */
        0xa9bf7bfd, /* stp x29, x30, [sp, #-16]! */
        0x910003fd, /* mov x29, sp */
        0xd4200020, /* brk */
    };
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        arm_enter(wrapped, sizeof wrapped, HD_COMPACT_FRAME);
        regs.pc += 4 * i;
        regs.r[30] = i == 3 ? START + 20 : RA; /* a recursion: the values would deceive */
        assert_int_equal(hd_innermost_aarch64(&in, &next), HD_INNERMOST_CALLER);
        assert_true(next.pc == (i == 3 ? START + 20 : RA) && next.sp == CALLER_SP && next.r[29] == CALLER_FP);
    }
}

static const uint32_t arm_short[] = {
    0xaa1e03e9, /* mov x9, x30 */
    0x9400001f, /* bl to the code at OUTLINED */
    0xaa0903fe, /* mov x30, x9 */
    0xd4200020, /* brk */
};

static void arm_outlined_enter(unsigned count) {
    static const uint32_t outlined[] = {0xa9bf4ff4, 0xd65f03c0}; /* stp x20, x19, [sp, #-16]!; ret */
    arm_enter(arm_short, sizeof arm_short, HD_COMPACT_FRAME);
    memcpy(code + OUTLINED, outlined, sizeof outlined);
    regs.pc += 4 * count;
    regs.r[9] = RA;
    if (count >= 2) {
        regs.sp -= 16;
        put(CALLER_SP - 16, X20);
        put(CALLER_SP - 8, X19);
        regs.r[30] = count == 2 ? START + 8 : RA;
    }
}

static void arm_outlined_prologue(void **state) {
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        arm_outlined_enter(i);
        assert_int_equal(hd_innermost_aarch64(&in, &next), HD_INNERMOST_CALLER);
        expect_caller(29, 19, X19);
        assert_int_equal(hd_innermost_is_outlined_aarch64(&in), i == 2);
    }
    arm_at(5, RA); /* behind an ordinary call */
    assert_false(hd_innermost_is_outlined_aarch64(&in));
}

/* Indirect jump behind an epilogue, and jump to code moved out of an epilogue. */
static void arm_jumps(void **state) {
    static const uint32_t indirect[] = {0x94000010, 0xa9417bfd, 0xa8c24ff4,
                                        0xd61f0020};           /* bl, ldp, ldp, br x1 */
    static const uint32_t shared[] = {0x94000010, 0x1400001f}; /* bl; b to the code at OUTLINED */
    (void)state;
    arm_at(5, RA);
    memcpy(code, indirect, sizeof indirect);
    in.stop = START + sizeof indirect;
    regs.pc = START + 4;
    assert_int_equal(hd_innermost_aarch64(&in, &next), HD_INNERMOST_CALLER);
    expect_caller(29, 19, X19);
    memcpy(code, shared, sizeof shared);
    memcpy(code + OUTLINED, arm_function + 5, 12);
    in.stop = START + sizeof shared;
    assert_int_equal(hd_innermost_aarch64(&in, &next), HD_INNERMOST_CALLER);
    expect_caller(29, 19, X19);
}

/* ---- x86-64 ---------------------------------------------------------------------------------- */

#define RBX UINT64_C(0xcbb)

static const uint8_t intel_function[] = {
    0x55,                      /* push %rbp */
    0x48, 0x89, 0xe5,          /* mov %rsp,%rbp */
    0x53,                      /* push %rbx */
    0x50,                      /* push %rax */
    0x48, 0x89, 0xfb,          /* mov %rdi,%rbx */
    0xe8, 0x40, 0,    0,    0, /* call elsewhere */
    0x48, 0x83, 0xc4, 0x08,    /* add $8,%rsp */
    0x5b,                      /* pop %rbx */
    0x5d,                      /* pop %rbp */
    0xc3,                      /* ret */
};

static void intel_enter(const void *from, size_t bytes, uint8_t kind) {
    set_up_function(from, bytes, kind);
    regs.sp = CALLER_SP - 8;
    put(regs.sp, RA);
    regs.r[6] = CALLER_FP;
    regs.r[3] = RBX;
}

static void intel_each_instruction(void **state) {
    static const uint8_t offsets[] = {0, 1, 4, 5, 6, 9, 14, 18, 19, 20};
    static const uint8_t depths[] = {0, 8, 8, 16, 24, 24, 24, 16, 8, 0};
    (void)state;
    for (unsigned i = 0; i < sizeof offsets; i++) {
        intel_enter(intel_function, sizeof intel_function, HD_COMPACT_FRAME);
        regs.pc += offsets[i];
        regs.sp -= depths[i];
        if (i >= 1) {
            put(CALLER_SP - 16, CALLER_FP);
        }
        if (i >= 3) {
            put(CALLER_SP - 24, RBX);
        }
        if (i >= 2 && i < 9) {
            regs.r[6] = CALLER_SP - 16;
        }
        if (i >= 5 && i < 8) {
            regs.r[3] = 5;
        }
        assert_int_equal(hd_innermost_x86_64(&in, &next), HD_INNERMOST_CALLER);
        expect_caller(6, 3, RBX);
    }
}

static void intel_values(void **state) {
    static const uint8_t body[] = {0xff, 0xe1, 0x0f, 0x0b, 0x0f, 0x0b}; /* jmp *%rcx; ud2; ud2 */
    (void)state;
    intel_enter(body, sizeof body, HD_COMPACT_FRAME);
    regs.pc += 4;
    assert_int_equal(hd_innermost_x86_64(&in, &next), HD_INNERMOST_RULE); /* not known who called */
    call_target = START;
    assert_int_equal(hd_innermost_x86_64(&in, &next), HD_INNERMOST_CALLER); /* the call is at the top */
    expect_caller(6, 3, RBX);
    put(CALLER_FP + 8, RA); /* and at the frame record, too */
    assert_int_equal(hd_innermost_x86_64(&in, &next), HD_INNERMOST_RULE);
}

static void intel_two_ways(void **state) {
    static const uint8_t wrapped[] = {0x48, 0x85, 0xff, 0x74, 0x01, 0xc3, /* test %rdi,%rdi; je; ret */
                                      0x55, 0x48, 0x89, 0xe5, 0x0f, 0x0b};
    static const uint8_t offsets[] = {0, 3, 5, 6};
    (void)state;
    for (unsigned i = 0; i < sizeof offsets; i++) {
        intel_enter(wrapped, sizeof wrapped, HD_COMPACT_FRAME);
        regs.pc += offsets[i];
        assert_int_equal(hd_innermost_x86_64(&in, &next), HD_INNERMOST_CALLER);
        expect_caller(6, 3, RBX);
    }
}

static void intel_indirect_jump(void **state) {
    static const uint8_t tail[] = {0x0f, 0x0b, 0x5b,
                                   0x5d, 0xff, 0xe0}; /* ud2; pop %rbx; pop %rbp; jmp *%rax */
    (void)state;
    for (unsigned i = 2; i < 5; i++) {
        intel_enter(tail, sizeof tail, HD_COMPACT_FRAME);
        regs.pc += i;
        regs.sp -= i == 4 ? 0 : 8 * (4 - i);
        put(CALLER_SP - 16, CALLER_FP);
        put(CALLER_SP - 24, RBX);
        assert_int_equal(hd_innermost_x86_64(&in, &next), HD_INNERMOST_CALLER);
        expect_caller(6, 3, RBX);
    }
    put(CALLER_SP - 8, 99); /* no return address: a jump by a table, behind another byte 5d */
    assert_int_equal(hd_innermost_x86_64(&in, &next), HD_INNERMOST_RULE);
}

static void intel_stubs(void **state) {
    static const uint8_t helper[] = {
        0x4c, 0x8d, 0x1d, 1,    2,    3, 4, /* lea, %r11; push %r11; jmp *; nop */
        0x41, 0x53, 0xff, 0x25, 1,    2, 3, 4, 0x90, 0x68,
        1,    0,    0,    0,    0xe9, 1, 2, 3, 4}; /* push $1; jmp to the lea */
    static const struct {
        uint8_t offset, depth;
    } places[] = {{0, 8}, {7, 8}, {9, 16}, {16, 0}, {21, 8}};
    (void)state;
    for (unsigned i = 0; i < sizeof places / sizeof places[0]; i++) {
        intel_enter(helper, sizeof helper, HD_COMPACT_NULL);
        in.start = in.stop = 0;
        in.stub = true;
        regs.pc += places[i].offset;
        regs.sp -= places[i].depth;
        assert_int_equal(hd_innermost_x86_64(&in, &next), HD_INNERMOST_CALLER);
        expect_caller(6, 3, RBX);
    }
}

/* Hand-written code without a table, whose frame pointer is not the first word that it pushes. */
static void intel_without_table(void **state) {
    static const uint8_t assembly[] = {0x53, 0x55, 0x48, 0x89, 0xe5, 0x48,
                                       0x83, 0xec, 0x40,                    /* push, push, mov, sub */
                                       0x48, 0x83, 0xe4, 0xc0, 0x0f, 0x0b}; /* and $-64,%rsp; ud2 */
    (void)state;
    intel_enter(assembly, sizeof assembly, HD_COMPACT_NULL);
    regs.pc += 13;
    regs.sp = CALLER_SP - 0xc0;
    regs.r[6] = CALLER_SP - 24;
    put(CALLER_SP - 24, CALLER_FP);
    put(CALLER_SP - 16, RBX);
    assert_int_equal(hd_innermost_x86_64(&in, &next), HD_INNERMOST_CALLER);
    expect_caller(6, 3, RBX);
    put(CALLER_SP - 8, 99);
    assert_int_equal(hd_innermost_x86_64(&in, &next), HD_INNERMOST_RULE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arm_each_instruction),
        cmocka_unit_test(arm_recursion),
        cmocka_unit_test(arm_signed_return),
        cmocka_unit_test(arm_values),
        cmocka_unit_test(arm_two_ways),
        cmocka_unit_test(arm_outlined_prologue),
        cmocka_unit_test(arm_jumps),
        cmocka_unit_test(intel_each_instruction),
        cmocka_unit_test(intel_values),
        cmocka_unit_test(intel_two_ways),
        cmocka_unit_test(intel_indirect_jump),
        cmocka_unit_test(intel_stubs),
        cmocka_unit_test(intel_without_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
