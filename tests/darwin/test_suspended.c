/* SPDX-License-Identifier: MIT
 *
 * The capture method of Darwin over a fake of Mach's calls: their order, their failures, threads that end,
 * and what the capture says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "capture/capture.h"
#include "capture/darwin/registers.h"
#include "fake_mach.h"
#include "os/darwin/thread_ports.h"
#include "os/os.h"

#define NO_THREAD 99000001u /* an id that no thread of this process has */
#define STACK_BYTES (128u * 1024u)

static _Alignas(16384) uint8_t fake_stack[STACK_BYTES];
static struct hd_mailbox mailbox;

/* A thread that waits, with its stack pointer `depth` bytes below the end of fake_stack. */
static struct fake_thread *add_waiting(uint32_t depth) {
    fake_mach_reset();
    assert_int_equal(hd_capture_buffers(), 0);
    struct fake_thread *t = fake_mach_add(NO_THREAD);
    for (unsigned i = 0; i < STACK_BYTES; i++) {
        fake_stack[i] = (uint8_t)(i * 31 + i / 256);
    }
    t->registers.sp = (uint64_t)(uintptr_t)fake_stack + STACK_BYTES - depth;
    t->registers.pc = (uint64_t)(uintptr_t)&add_waiting;
    t->rights++;
    assert_true(hd_thread_port_keep(hd_thread_id_of(NO_THREAD), t->port));
    return t;
}

static void drop(const struct fake_thread *t) {
    hd_thread_port_drop(hd_thread_id_of(NO_THREAD), t->port);
}

static void open_watched(struct hd_target *t) {
    memset(&mailbox, 0, sizeof mailbox);
    mailbox.thread = hd_thread_id_of(NO_THREAD);
    mailbox.stack_begin = (uint64_t)(uintptr_t)fake_stack;
    mailbox.stack_end = mailbox.stack_begin + STACK_BYTES;
    *t = (struct hd_target){.watched = true, .mailbox = &mailbox};
    assert_int_equal(hd_target_open(t, hd_thread_id_of(NO_THREAD)), 0);
}

static void open_other(struct hd_target *t) {
    *t = (struct hd_target){0};
    assert_int_equal(hd_target_open(t, hd_thread_id_of(NO_THREAD)), 0);
}

/* Asserts that the log has between S and U only R, r and failures, and that no thread stays suspended. */
static void assert_harmless(void) {
    bool inside = false;
    for (const char *p = fake_mach.log; *p != '\0'; p++) {
        inside = *p == 'S' || (inside && *p != 'U');
        assert_true(!inside || strchr("SRr!", *p) != NULL);
    }
    assert_false(inside);
    assert_int_equal(fake_mach.now_suspended, 0);
}

/* ---- order ------------------------------------------------------------------------------------- */

static void inside_known_bounds_nothing_but_registers_is_called(void **state) {
    (void)state;
    struct hd_target t;
    struct hd_capture c;
    struct fake_thread *thread = add_waiting(4096);
    open_watched(&t);
    fake_mach_clear();
    assert_int_equal(hd_capture_take(&t, false, &c), 0);
    assert_string_equal(fake_mach.log, "tSRUtr"); /* the last r reads the code before pc */
    assert_int_equal(c.way, HD_WAY_SUSPENDED);
    assert_int_equal(c.state, HD_RUN_BLOCKED);
    assert_false(c.truncated || c.same || c.in_place);
    assert_int_equal(c.regs.sp, thread->registers.sp);
    assert_int_equal(c.stack_bytes, 4096 + (c.regs.sp - c.stack_addr));
    assert_memory_equal(c.stack, (const void *)(uintptr_t)c.stack_addr, c.stack_bytes);
    assert_harmless();
    hd_target_close(&t);
    drop(thread);
}

static void without_bounds_the_stack_is_read_in_pieces(void **state) {
    (void)state;
    struct hd_target t;
    struct hd_capture c;
    struct fake_thread *thread = add_waiting(70000);
    static uint8_t copy[HD_STACK_BYTES_MAX];
    open_other(&t);
    fake_mach_clear();
    assert_int_equal(hd_capture_frozen(&t, copy, &c), 0);
    assert_harmless();
    assert_in_range(fake_mach.largest_read, 1, 16384);
    assert_int_equal(c.stack_bytes, HD_STACK_BYTES_MAX);
    assert_true(c.truncated);
    assert_ptr_equal(c.stack, copy);
    assert_memory_equal(copy, (const void *)(uintptr_t)c.stack_addr, c.stack_bytes);
    hd_target_close(&t);
    drop(thread);
}

static void a_read_ends_at_the_last_mapped_page(void **state) {
    (void)state;
    struct hd_target t;
    struct hd_capture c;
    struct fake_thread *thread = add_waiting(0);
    static uint8_t copy[HD_STACK_BYTES_MAX];
    uint8_t *pages = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(pages, MAP_FAILED);
    uint8_t *begin = (uint8_t *)(((uintptr_t)pages + 16383) & ~(uintptr_t)16383);
    assert_int_equal(munmap(begin + 5 * 4096, 4096), 0);
    memset(begin, 7, 5 * 4096);
    /* the first page is the stack's last one, and the red zone lies on the page before */
    thread->registers.sp = (uint64_t)(uintptr_t)begin + 4096;
    open_other(&t);
    assert_int_equal(hd_capture_frozen(&t, copy, &c), 0);
    assert_int_equal(c.stack_addr + c.stack_bytes, (uint64_t)(uintptr_t)begin + 5 * 4096);
    assert_false(c.truncated);
    assert_harmless();
    munmap(pages, 65536);
    hd_target_close(&t);
    drop(thread);
}

/* The lowest page of a stack may follow an unmapped one. */
static void a_red_zone_on_an_unmapped_page_is_left_out(void **state) {
    (void)state;
    struct hd_target t;
    struct hd_capture c;
    struct fake_thread *thread = add_waiting(0);
    static uint8_t copy[HD_STACK_BYTES_MAX];
    uint8_t *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_int_equal(mprotect(pages, 4096, PROT_NONE), 0);
    thread->registers.sp = (uint64_t)(uintptr_t)pages + 4096;
    open_other(&t);
    assert_int_equal(hd_capture_frozen(&t, copy, &c), 0);
    assert_int_equal(c.stack_addr, thread->registers.sp);
    assert_in_range(c.stack_bytes, 4096, HD_STACK_BYTES_MAX);
    munmap(pages, 8192);
    hd_target_close(&t);
    drop(thread);
}

static void a_stack_pointer_out_of_bounds_is_read_fallibly(void **state) {
    (void)state;
    struct hd_target t;
    struct hd_capture c;
    struct fake_thread *thread = add_waiting(0);
    static const uint64_t places[] = {0, 8, UINT64_MAX, UINT64_MAX - 64, 1ULL << 47, 4096};
    for (unsigned i = 0; i < sizeof places / sizeof places[0]; i++) {
        thread->registers.sp = places[i];
        open_watched(&t);
        fake_mach_clear();
        assert_int_equal(hd_capture_take(&t, false, &c), 0);
        assert_int_equal(c.stack_bytes, 0);
        assert_false(t.last.valid);
        assert_harmless();
        hd_target_close(&t);
    }
    drop(thread);
}

static void the_longest_copy_of_a_watched_stack_is_truncated(void **state) {
    (void)state;
    struct hd_target t;
    struct hd_capture c;
    struct fake_thread *thread = add_waiting(STACK_BYTES - 16384);
    open_watched(&t);
    assert_int_equal(hd_capture_take(&t, false, &c), 0);
    assert_int_equal(c.stack_bytes, HD_STACK_BYTES_MAX);
    assert_true(c.truncated);
    hd_target_close(&t);
    drop(thread);
}

/* ---- same -------------------------------------------------------------------------------------- */

static bool next_is_same(struct hd_target *t) {
    struct hd_capture c;
    fake_mach_clear();
    assert_int_equal(hd_capture_take(t, false, &c), 0);
    assert_int_equal(c.same, strchr(fake_mach.log, 'S') == NULL);
    assert_int_equal(c.same, c.stack_bytes == 0);
    return c.same;
}

static void equal_times_of_a_waiting_thread_are_the_same_stack(void **state) {
    (void)state;
    struct hd_target t;
    struct fake_thread *thread = add_waiting(4096);
    open_watched(&t);
    assert_false(next_is_same(&t));
    assert_true(next_is_same(&t));
    thread->facts.system_ns++;
    assert_false(next_is_same(&t));
    assert_true(next_is_same(&t));
    thread->facts.user_ns++;
    assert_false(next_is_same(&t));
    thread->facts.state = HD_MACH_RUNNING; /* its times are as old as its last call */
    assert_false(next_is_same(&t));
    assert_false(next_is_same(&t));
    thread->facts.state = HD_MACH_WAITING;
    assert_false(next_is_same(&t));
    assert_true(next_is_same(&t));
    hd_target_forget_last(&t);
    assert_false(next_is_same(&t));
    hd_target_close(&t);
    drop(thread);
}

static void a_thread_that_runs_has_no_call(void **state) {
    (void)state;
    struct hd_target t;
    struct hd_capture c;
    struct fake_thread *thread = add_waiting(4096);
    thread->facts.state = HD_MACH_RUNNING;
    open_watched(&t);
    assert_int_equal(hd_capture_take(&t, false, &c), 0);
    assert_int_equal(c.state, HD_RUN_RUNNING);
    assert_int_equal(c.syscall_nr, HD_SYSCALL_NONE);
    assert_false(hd_capture_shows_wait(&c));
    hd_target_close(&t);
    drop(thread);
}

/* It waited at the first look, and runs until the suspend. Then it waits again, somewhere else. */
static void a_thread_that_runs_before_the_suspend_is_not_taken_for_waiting(void **state) {
    (void)state;
    struct hd_target t;
    struct hd_capture c;
    struct fake_thread *thread = add_waiting(4096);
    open_watched(&t);
    fake_mach.runs_ns = 500;
    assert_int_equal(hd_capture_take(&t, false, &c), 0);
    assert_int_equal(c.way, HD_WAY_SUSPENDED);
    assert_int_equal(c.state, HD_RUN_RUNNING);
    fake_mach.runs_ns = 0;
    assert_false(next_is_same(&t));
    hd_target_close(&t);
    drop(thread);
}

/* It waits for a page of memory: the bytes before its pc enter no kernel. */
static void a_wait_outside_of_a_call_has_no_number(void **state) {
    (void)state;
    static const uint8_t code[8] = {0};
    struct hd_target t;
    struct hd_capture c;
    struct fake_thread *thread = add_waiting(4096);
    thread->registers.pc = (uint64_t)(uintptr_t)code + 4;
    for (unsigned i = 0; i < 31; i++) {
        thread->registers.general[i] = 3;
    }
    open_watched(&t);
    assert_int_equal(hd_capture_take(&t, false, &c), 0);
    assert_int_equal(c.state, HD_RUN_BLOCKED);
    assert_int_equal(c.syscall_nr, HD_SYSCALL_NONE);
    assert_int_equal(c.syscall_args[0], 0);
    hd_target_close(&t);
    drop(thread);
}

static void a_waiting_thread_shows_its_arguments(void **state) {
    (void)state;
#if defined(__x86_64__)
    static const uint8_t code[] = {0x0f, 0x05, 0xc3};
    static const uint8_t places[6] = {4, 5, 3, 10, 8, 9};
    const int32_t number = HD_SYSCALL_NONE;
#else
    static const uint8_t code[] = {0x01, 0x10, 0x00, 0xd4, 0xc0};
    static const uint8_t places[6] = {0, 1, 2, 3, 4, 5};
    const int32_t number = -31;
#endif
    struct hd_target t;
    struct hd_capture c;
    struct fake_thread *thread = add_waiting(4096);
    thread->registers.pc = (uint64_t)(uintptr_t)code + HD_CALL_BYTES;
    for (unsigned i = 0; i < 31; i++) {
        thread->registers.general[i] = 100 + i;
    }
    thread->registers.general[16] = (uint64_t)(int64_t)-31;
    open_watched(&t);
    for (unsigned turn = 0; turn < 2; turn++) { /* the second is the same */
        assert_int_equal(hd_capture_take(&t, false, &c), 0);
        assert_int_equal(c.same, turn == 1);
        assert_int_equal(c.syscall_nr, number);
        assert_true(hd_capture_shows_wait(&c));
        for (unsigned i = 0; i < 6; i++) {
            assert_int_equal(c.syscall_args[i], 100 + places[i]);
        }
    }
    hd_target_close(&t);
    drop(thread);
}

static void registers_have_their_dwarf_numbers(void **state) {
    (void)state;
    struct hd_mach_registers from = {.pc = 1, .sp = 2};
    struct hd_regs to = {0};
    for (unsigned i = 0; i < 31; i++) {
        from.general[i] = 100 + i;
    }
    hd_registers_store(&to, &from);
    assert_int_equal(to.pc, 1);
    assert_int_equal(to.sp, 2);
#if defined(__x86_64__)
    /* DWARF: 0 rax, 1 rdx, 2 rcx, 3 rbx, 4 rsi, 5 rdi, 6 rbp, 7 rsp, 8 to 15 r8 to r15 */
    static const uint8_t general[16] = {0, 3, 2, 1, 5, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    for (unsigned i = 0; i < 16; i++) {
        assert_int_equal(to.r[i], 100 + general[i]);
    }
    assert_int_equal(to.valid, 0xffff);
#else
    for (unsigned i = 0; i < 31; i++) {
        assert_int_equal(to.r[i], 100 + i);
    }
    assert_int_equal(to.valid, 0x7fffffff);
#endif
}

/* ---- failures ---------------------------------------------------------------------------------- */

static void each_call_may_fail(void **state) {
    (void)state;
    static const int errors[] = {-EFAULT, -EIO, -EPERM, -EINTR};
    struct fake_thread *thread = add_waiting(40000);
    for (unsigned watched = 0; watched < 2; watched++) {
        for (unsigned i = 0; i < sizeof errors / sizeof errors[0]; i++) {
            for (unsigned n = 1; n < 16; n++) {
                struct hd_target t;
                struct hd_capture c;
                if (watched == 1) {
                    open_watched(&t);
                } else {
                    open_other(&t);
                }
                fake_mach_clear();
                fake_mach.fail_at = n;
                fake_mach.fail_rc = errors[i];
                assert_int_equal(hd_capture_take(&t, false, &c), 0);
                assert_harmless();
                assert_true(c.way == HD_WAY_SUSPENDED || c.way == HD_WAY_KERNEL);
                assert_true(c.way == HD_WAY_KERNEL || c.regs.sp == thread->registers.sp);
                assert_int_equal(thread->suspended, 0);
                hd_target_close(&t);
            }
        }
    }
    assert_int_equal(fake_mach_rights(), 1);
    drop(thread);
}

/* From call n on, the kernel says that the thread has ended. */
static void a_thread_may_end_at_each_step(void **state) {
    (void)state;
    struct fake_thread *thread = add_waiting(40000);
    for (unsigned n = 1; n < 16; n++) {
        struct hd_target t;
        struct hd_capture c;
        open_watched(&t);
        fake_mach_clear();
        fake_mach.fail_at = n;
        fake_mach.fail_after = true;
        fake_mach.fail_rc = -ESRCH;
        int rc = hd_capture_take(&t, false, &c);
        /* t S R U end the capture; after U it is complete */
        assert_int_equal(rc, n <= 4 ? -ESRCH : 0);
        assert_int_equal(c.state == HD_RUN_GONE, rc == -ESRCH);
        fake_mach_clear();
        thread->suspended = 0; /* a thread that has ended is not resumed */
        hd_target_close(&t);
    }
    drop(thread);
}

static void an_unknown_thread_is_not_captured(void **state) {
    (void)state;
    struct hd_target t = {0};
    struct hd_capture c;
    fake_mach_reset();
    assert_int_equal(hd_target_open(&t, hd_thread_id_of(NO_THREAD)), -ENOENT);
    assert_int_equal(hd_capture_take(&t, false, &c), 0);
    assert_int_equal(c.way, HD_WAY_KERNEL);
    assert_int_equal(fake_mach.calls, 0);
    hd_target_close(&t);
}

static void no_thread_suspends_itself(void **state) {
    (void)state;
    struct hd_target t = {0};
    struct hd_capture c;
    fake_mach_reset();
    struct fake_thread *self = fake_mach_add_self();
    self->real = false;
    assert_true(hd_thread_port_keep(hd_thread_id_self(), hd_mach.self()));
    assert_int_equal(hd_target_open(&t, hd_thread_id_self()), 0);
    assert_int_equal(hd_capture_take(&t, false, &c), 0);
    assert_int_equal(c.way, HD_WAY_KERNEL);
    assert_null(strchr(fake_mach.log, 'S'));
    hd_target_close(&t);
    hd_thread_port_drop(hd_thread_id_self(), self->port);
    assert_int_equal(fake_mach_rights(), 0);
}

/* ---- sums -------------------------------------------------------------------------------------- */

static void the_pause_is_measured(void **state) {
    (void)state;
    struct hd_target t;
    struct hd_capture c;
    struct fake_thread *thread = add_waiting(4096);
    open_watched(&t);
    fake_mach_clear();
    fake_mach.suspend_ns = 2 * HD_NS_PER_MS;
    assert_int_equal(hd_capture_take(&t, false, &c), 0);
    fake_mach.suspend_ns = 0;
    thread->facts.user_ns++;
    uint64_t first_ns = t.cost.pause_total_ns;
    assert_in_range(first_ns, 2 * HD_NS_PER_MS, HD_NS_PER_S);
    assert_int_equal(t.cost.pause_max_ns, first_ns);
    assert_int_equal(hd_capture_take(&t, false, &c), 0);
    assert_true(t.cost.pause_total_ns > first_ns);
    assert_int_equal(t.cost.pause_max_ns, first_ns);
    assert_int_equal(t.cost.samples, 2);
    hd_target_close(&t);
    drop(thread);
}

static void ten_thousand_samples_leak_no_port(void **state) {
    (void)state;
    struct hd_target t;
    struct hd_capture c;
    struct fake_thread *thread = add_waiting(4096);
    static uint8_t copy[HD_STACK_BYTES_MAX];
    for (unsigned i = 0; i < 10000; i++) {
        thread->facts.user_ns += i % 3;
        if (i % 2 == 0) {
            open_watched(&t);
            assert_int_equal(hd_capture_take(&t, false, &c), 0);
        } else {
            open_other(&t);
            assert_int_equal(hd_capture_frozen(&t, copy, &c), 0);
        }
        hd_target_close(&t);
    }
    assert_int_equal(fake_mach_rights(), 1);
    drop(thread);
    assert_int_equal(fake_mach_rights(), 0);
    assert_int_equal(hd_thread_port(hd_thread_id_of(NO_THREAD)), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inside_known_bounds_nothing_but_registers_is_called),
        cmocka_unit_test(without_bounds_the_stack_is_read_in_pieces),
        cmocka_unit_test(a_read_ends_at_the_last_mapped_page),
        cmocka_unit_test(a_red_zone_on_an_unmapped_page_is_left_out),
        cmocka_unit_test(a_stack_pointer_out_of_bounds_is_read_fallibly),
        cmocka_unit_test(the_longest_copy_of_a_watched_stack_is_truncated),
        cmocka_unit_test(equal_times_of_a_waiting_thread_are_the_same_stack),
        cmocka_unit_test(a_thread_that_runs_has_no_call),
        cmocka_unit_test(a_thread_that_runs_before_the_suspend_is_not_taken_for_waiting),
        cmocka_unit_test(a_wait_outside_of_a_call_has_no_number),
        cmocka_unit_test(a_waiting_thread_shows_its_arguments),
        cmocka_unit_test(registers_have_their_dwarf_numbers),
        cmocka_unit_test(each_call_may_fail),
        cmocka_unit_test(a_thread_may_end_at_each_step),
        cmocka_unit_test(an_unknown_thread_is_not_captured),
        cmocka_unit_test(no_thread_suspends_itself),
        cmocka_unit_test(the_pause_is_measured),
        cmocka_unit_test(ten_thousand_samples_leak_no_port),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
