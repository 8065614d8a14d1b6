/* SPDX-License-Identifier: MIT
 *
 * Which methods of a target a sample tries, how often, and which answer counts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "capture/linux/method.h"
#include "capture_live.h"

#define PC 0x4711u
#define REQUESTED_NS 12345u

static unsigned tries;

static int no_answer(struct hd_target *t, struct hd_capture *out) {
    (void)t;
    memset(&out->regs, 0xa5, sizeof out->regs); /* a method may leave anything there */
    out->stack_bytes = 99;
    tries++;
    return -EAGAIN;
}

static int answer(struct hd_target *t, struct hd_capture *out) {
    (void)t;
    assert_int_equal(out->stack_bytes, 0);
    assert_int_equal(out->syscall_nr, HD_SYSCALL_NONE);
    out->way = HD_WAY_SUSPENDED;
    out->regs.pc = PC;
    return 0;
}

static int never_again(struct hd_target *t, struct hd_capture *out) {
    (void)t;
    (void)out;
    tries++;
    return -EBUSY;
}

static int no_answer_in_time(struct hd_target *t, struct hd_capture *out) {
    (void)t;
    out->at_ns = REQUESTED_NS;
    tries++;
    return -ETIMEDOUT;
}

static int ended(struct hd_target *t, struct hd_capture *out) {
    (void)t;
    (void)out;
    return -ESRCH;
}

static int must_not_be_called(struct hd_target *t, struct hd_capture *out) {
    (void)t;
    (void)out;
    fail();
    return 0;
}

/* A thread that reads, captured by these methods. */
static int take_by(const struct hd_capture_method *methods, struct hd_capture *out) {
    int fd;
    struct live l = {0};
    assert_true(live_start_reader(&l, &fd, live_body_read));
    assert_int_equal(live_frozen_reading(&l.target, out), 0);
    uint64_t samples = l.target.cost.samples;
    l.target.methods = methods;
    tries = 0;
    int rc = hd_capture_take(&l.target, true, out);
    assert_int_equal(l.target.cost.samples - samples, rc == 0 && out->way != HD_WAY_KERNEL);
    live_end_reader(&l);
    return rc;
}

static void the_last_resort_serves_where_no_method_has_an_answer(void **state) {
    (void)state;
    static const struct hd_capture_method methods[] = {
        {"none", no_answer}, {"kernel", hd_method_kernel}, {"", NULL}};
    struct hd_capture c;
    assert_int_equal(take_by(methods, &c), 0);
    assert_int_equal(c.way, HD_WAY_KERNEL);
    assert_int_equal(c.state, HD_RUN_BLOCKED);
    assert_int_equal(c.syscall_nr, SYS_read);
    assert_int_equal(c.stack_bytes, 0);
    assert_int_equal(c.regs.pc, 0);
    assert_true(tries > 1); /* again and again for 5 ms */
}

static void the_first_answer_counts(void **state) {
    (void)state;
    static const struct hd_capture_method methods[] = {
        {"none", no_answer}, {"answer", answer}, {"later", must_not_be_called}, {"", NULL}};
    struct hd_capture c;
    assert_int_equal(take_by(methods, &c), 0);
    assert_int_equal(c.way, HD_WAY_SUSPENDED);
    assert_int_equal(c.regs.pc, PC);
    assert_int_equal(tries, 1);
}

static void a_method_that_cannot_answer_now_ends_the_attempts(void **state) {
    (void)state;
    static const struct hd_capture_method methods[] = {
        {"busy", never_again}, {"later", must_not_be_called}, {"kernel", hd_method_kernel}, {"", NULL}};
    struct hd_capture c;
    assert_int_equal(take_by(methods, &c), 0);
    assert_int_equal(c.way, HD_WAY_KERNEL);
    assert_int_equal(tries, 1);
}

static void a_sample_without_an_answer_is_of_the_request(void **state) {
    (void)state;
    static const struct hd_capture_method methods[] = {
        {"late", no_answer_in_time}, {"kernel", hd_method_kernel}, {"", NULL}};
    struct hd_capture c;
    assert_int_equal(take_by(methods, &c), 0);
    assert_int_equal(c.way, HD_WAY_KERNEL);
    assert_int_equal(c.at_ns, REQUESTED_NS);
    assert_int_equal(tries, 1);
}

static void a_thread_that_has_ended_is_gone(void **state) {
    (void)state;
    static const struct hd_capture_method methods[] = {
        {"ended", ended}, {"kernel", must_not_be_called}, {"", NULL}};
    struct hd_capture c;
    assert_int_equal(take_by(methods, &c), -ESRCH);
    assert_int_equal(c.state, HD_RUN_GONE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_resort_serves_where_no_method_has_an_answer),
        cmocka_unit_test(the_first_answer_counts),
        cmocka_unit_test(a_method_that_cannot_answer_now_ends_the_attempts),
        cmocka_unit_test(a_sample_without_an_answer_is_of_the_request),
        cmocka_unit_test(a_thread_that_has_ended_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
