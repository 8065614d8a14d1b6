/* SPDX-License-Identifier: MIT
 *
 * The signal's rung where no answer comes: late, refused, put off in mid-copy, and what is told instead.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sched.h>

#include "capture/mailbox.h"
#include "capture_live.h"

/* ---- answers that do not come ------------------------------------------------------------------------ */

static struct hd_os_calls real;
static int sent_to, sent_signal;
static uint64_t sent_value;

static int swallow_signal(int pid, int tid, int signal, uint64_t value) {
    (void)pid;
    sent_to = tid;
    sent_signal = signal;
    sent_value = value;
    return 0;
}

static int refuse_signal(int pid, int tid, int signal, uint64_t value) {
    (void)pid;
    (void)tid;
    (void)signal;
    (void)value;
    return -EAGAIN;
}

/* Captures until a signal was sent and not answered: one that waits for a processor gets none. */
static bool capture_in_vain(struct live *l, bool lend, bool (*is_sent)(const struct live *),
                            struct hd_capture *c) {
    *c = (struct hd_capture){.way = HD_WAY_FROZEN};
    for (int i = 0; i < 2000 && !is_sent(l); i++) {
        if (hd_capture_take(&l->target, lend, c) != 0) {
            return false;
        }
    }
    return is_sent(l) && c->way == HD_WAY_KERNEL;
}

static bool is_swallowed(const struct live *l) {
    return sent_to == l->tid;
}

static void an_answer_that_comes_too_late_is_not_taken(void **state) {
    (void)state;
    struct live l = {0};
    struct hd_capture c;
    assert_true(live_start(&l, live_body_spin));
    assert_true(
        live_capture_by(&l, HD_WAY_SIGNALLED, &c)); /* the thread is past anything that it does first */
    real = hd_os;
    hd_os.signal_thread = swallow_signal;
    bool in_vain = capture_in_vain(&l, true, is_swallowed, &c);
    hd_os = real;
    assert_true(in_vain);
    uint64_t word = __atomic_load_n(&l.mailbox->word, __ATOMIC_ACQUIRE);
    assert_int_equal(hd_os.signal_thread(hd_os.get_pid(), l.tid, sent_signal, sent_value), 0);
    live_nap(20 * HD_NS_PER_MS);
    assert_int_equal(__atomic_load_n(&l.mailbox->word, __ATOMIC_ACQUIRE), word);
    assert_true(live_capture_spinning(&l, &c));
    assert_true(live_in_spin(c.regs.pc));
    live_end(&l);
}

static void a_signal_that_cannot_be_sent_leaves_the_kernels_word(void **state) {
    (void)state;
    struct live l = {0};
    struct hd_capture c;
    assert_true(live_start(&l, live_body_spin));
    real = hd_os;
    hd_os.signal_thread = refuse_signal;
    assert_int_equal(hd_capture_take(&l.target, true, &c), 0);
    hd_os = real;
    assert_int_equal(c.way, HD_WAY_KERNEL);
    assert_int_equal(l.target.cost.signals, 0);
    assert_true(live_capture_spinning(&l, &c));
    live_end(&l);
}

static struct live *put_off;

/* As though the handler had begun and then got no processor. */
static int begin_only(int pid, int tid, int signal, uint64_t value) {
    (void)pid;
    (void)tid;
    (void)signal;
    __atomic_store_n(&put_off->mailbox->word, hd_mail_word((uint32_t)value, HD_MAIL_COPYING),
                     __ATOMIC_RELEASE);
    sent_value = value;
    return 0;
}

static bool is_put_off(const struct live *l) {
    return (__atomic_load_n(&l->mailbox->word, __ATOMIC_ACQUIRE) & 3) == HD_MAIL_COPYING;
}

static void a_handler_put_off_in_mid_copy_closes_the_rung_until_it_is_done(void **state) {
    (void)state;
    struct live l = {0}, other = {0};
    struct hd_capture c;
    assert_true(live_start(&l, live_body_spin));
    assert_true(live_start(&other, live_body_spin));
    put_off = &l;
    real = hd_os;
    hd_os.signal_thread = begin_only;
    bool in_vain = capture_in_vain(&l, true, is_put_off, &c);
    hd_os = real;
    assert_true(in_vain);
    uint64_t before = other.target.cost.signals;
    assert_true(live_capture_by(&other, HD_WAY_KERNEL, &c)); /* the buffer is in that handler's hands */
    assert_int_equal(other.target.cost.signals, before);
    __atomic_store_n(&l.mailbox->word, hd_mail_word((uint32_t)sent_value, HD_MAIL_DONE), __ATOMIC_RELEASE);
    assert_true(live_capture_by(&other, HD_WAY_SIGNALLED, &c));
    assert_true(live_capture_spinning(&l, &c));
    live_end(&other);
    live_end(&l);
}

/* The watch ends while a handler is in mid-copy, and another run starts: what it copies is nobody else's. */
static void a_handler_put_off_at_a_stop_keeps_what_it_copies_to(void **state) {
    (void)state;
    static uint8_t kept[HD_STACK_BYTES_MAX];
    struct live l = {0}, other = {0};
    struct hd_capture c;
    assert_true(live_start(&l, live_body_spin));
    assert_true(live_start(&other, live_body_spin));
    put_off = &l;
    real = hd_os;
    hd_os.signal_thread = begin_only;
    bool in_vain = capture_in_vain(&l, true, is_put_off, &c);
    hd_os = real;
    assert_true(in_vain);
    hd_target_close(&l.target);
    assert_int_equal(hd_capture_buffers(), 0);
    assert_true(live_capture_by(&other, HD_WAY_SIGNALLED, &c));
    memcpy(kept, c.stack, c.stack_bytes);
    memset(l.mailbox->bytes, 0x33, HD_STACK_BYTES_MAX);
    assert_memory_equal(kept, c.stack, c.stack_bytes);
    live_end(&other);
    live_end(&l);
}

/* ---- running, or waiting for a processor -------------------------------------------------------------- */

#define LOOKS 20

/* How many of some captures without a stack found the thread in `run`. */
static int looks_that_say(struct live *l, enum hd_run_state run) {
    struct hd_capture c;
    int count = 0;
    for (int i = 0; i < LOOKS; i++) {
        assert_int_equal(hd_capture_take(&l->target, false, &c), 0);
        assert_int_equal(c.way, HD_WAY_KERNEL);
        count += c.state == run;
    }
    return count;
}

static void a_thread_that_runs_is_told_so_without_a_stack(void **state) {
    (void)state;
    struct live l = {0};
    assert_true(live_start(&l, live_body_spin));
    l.target.signal = 0;
    int count = 0;
    bool ran = false; /* most of the time, by the kernel's figures: others want the processor, too */
    for (int i = 0; i < 10 && !ran; i++) {
        struct hd_sched before, after;
        assert_int_equal(hd_capture_sched(&l.target, &before), 0);
        count = looks_that_say(&l, HD_RUN_RUNNING);
        assert_int_equal(hd_capture_sched(&l.target, &after), 0);
        ran = (after.delay_ns - before.delay_ns) * 4 < after.cpu_ns - before.cpu_ns;
    }
    live_end(&l);
    if (!ran) {
        print_message("this machine has no processor to spare\n");
        skip();
    }
    assert_true(count > LOOKS / 2);
}

/* On the one processor of a thread that spins, and only when that wants nothing of it. */
static void body_starved(struct live *l) {
    cpu_set_t one;
    struct sched_param none = {0};
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    if (pthread_setaffinity_np(((struct live *)l->arg)->thread, sizeof one, &one) == 0 &&
        sched_setaffinity(0, sizeof one, &one) == 0 && sched_setscheduler(0, SCHED_IDLE, &none) == 0) {
        live_spin_until_stop(l);
    }
}

static void a_starved_thread_is_told_so_even_while_there_is_nowhere_to_copy_to(void **state) {
    (void)state;
    struct live hog = {0}, late = {0}, starved = {.arg = &hog};
    struct hd_capture c;
    assert_true(live_start(&hog, live_body_spin));
    assert_true(live_start(&late, live_body_spin));
    assert_true(live_start(&starved, body_starved));
    put_off = &late;
    real = hd_os;
    hd_os.signal_thread = begin_only;
    bool in_vain = capture_in_vain(&late, false, is_put_off, &c); /* into the buffer for all others */
    hd_os = real;
    assert_true(in_vain);
    assert_true(looks_that_say(&starved, HD_RUN_RUNNABLE) > LOOKS / 2);
    __atomic_store_n(&late.mailbox->word, hd_mail_word((uint32_t)sent_value, HD_MAIL_DONE), __ATOMIC_RELEASE);
    live_end(&hog);
    live_end(&late);
    live_end(&starved);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_that_comes_too_late_is_not_taken),
        cmocka_unit_test(a_signal_that_cannot_be_sent_leaves_the_kernels_word),
        cmocka_unit_test(a_handler_put_off_in_mid_copy_closes_the_rung_until_it_is_done),
        cmocka_unit_test(a_handler_put_off_at_a_stop_keeps_what_it_copies_to),
        cmocka_unit_test(a_thread_that_runs_is_told_so_without_a_stack),
        cmocka_unit_test(a_starved_thread_is_told_so_even_while_there_is_nowhere_to_copy_to),
    };
    hd_os_clock_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
