/* SPDX-License-Identifier: MIT
 *
 * Requests by a signal without an answer in time: late ones, refused ones, and handlers stopped in mid-copy.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sched.h>

#include "busy.h"
#include "capture/linux/signal_handler.h"
#include "capture/watched_thread.h"
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

/* Where no signal is looked for. */
static void body_busy_in_kernel(struct live *l) {
    while (live_get(&l->stop) == 0) {
        if (!busy_in_kernel()) {
            live_set(&l->returned, -1);
            return;
        }
    }
}

/* Starts a thread that is asked, and is still in the kernel when the answer is not waited for any more. */
static void ask_in_vain(struct live *l, bool lend) {
    struct hd_capture c = {0};
    assert_true(live_start(l, body_busy_in_kernel));
    for (int i = 0; i < 2000 && l->target.request.sequence == 0; i++) {
        assert_int_equal(hd_capture_take(&l->target, lend, &c), 0);
        if (live_get(&l->returned) < 0) {
            live_end(l);
            print_message("this kernel has no such call\n");
            skip();
        }
    }
    assert_int_equal(c.way, HD_WAY_KERNEL);
    assert_int_not_equal(l->target.request.sequence, 0);
}

static bool answers_late(struct live *l, struct hd_capture *c) {
    for (int i = 0; i < 5000; i++) {
        if (hd_capture_late(&l->target, c) == 0) {
            return true;
        }
        live_nap(HD_NS_PER_MS);
    }
    return false;
}

static uint64_t word_of(const struct live *l) {
    return __atomic_load_n(&l->mailbox->word, __ATOMIC_ACQUIRE) & 3;
}

static void a_late_answer_shows_where_the_thread_was(void **state) {
    (void)state;
    struct live l = {0};
    struct hd_capture c = {0};
    uint64_t before_ns = hd_os_now_ns();
    ask_in_vain(&l, true);
    uint64_t samples = l.target.cost.samples, signals = l.target.cost.signals, requested_ns = hd_os_now_ns();
    assert_int_equal(hd_capture_take(&l.target, true, &c), 0); /* is not asked again */
    assert_int_equal(c.way, HD_WAY_KERNEL);
    assert_true(c.state == HD_RUN_RUNNING || c.state == HD_RUN_RUNNABLE); /* others may want its processor */
    assert_int_equal(l.target.cost.signals, signals);
    assert_true(answers_late(&l, &c));
    assert_int_equal(c.way, HD_WAY_SIGNALLED);
    assert_true(c.in_place && c.stack_bytes != 0);
    assert_in_range(c.at_ns, before_ns, requested_ns); /* not when it came */
    assert_int_equal(l.target.cost.samples, samples + 1);
    assert_int_equal(hd_capture_late(&l.target, &c), -EAGAIN);
    live_end(&l);
}

static void a_forgotten_request_is_not_answered(void **state) {
    (void)state;
    struct live l = {0};
    struct hd_capture c = {0};
    ask_in_vain(&l, true);
    hd_capture_late_forget(&l.target);
    assert_int_equal(word_of(&l), HD_MAIL_IDLE);
    live_set(&l.stop, 1); /* the signal arrives */
    assert_true(live_wait(&l.returned));
    assert_int_equal(word_of(&l), HD_MAIL_IDLE);
    assert_int_equal(hd_capture_late(&l.target, &c), -EAGAIN);
    live_end(&l);
}

/* Its turn was over, as was known only then, and it is in the kernel since before the next began. */
static void a_request_of_the_turn_before_serves_the_next(void **state) {
    (void)state;
    struct live l = {0};
    struct hd_capture c = {0};
    ask_in_vain(&l, true);
    uint64_t signals = l.target.cost.signals, requested_ns = hd_os_now_ns();
    hd_capture_late_forget(&l.target);
    assert_int_equal(hd_capture_take(&l.target, true, &c), 0);
    assert_int_equal(c.way, HD_WAY_KERNEL);
    assert_true(c.at_ns > requested_ns); /* a sample of the turn that is */
    assert_int_equal(l.target.cost.signals, signals);
    assert_true(answers_late(&l, &c));
    assert_true(c.in_place && c.at_ns < requested_ns);
    live_end(&l);
}

/* Other samples need the spare buffer at once; the in-place buffer may be free later. */
static void who_had_nowhere_to_copy_to_has_it_with_the_next_sample(void **state) {
    (void)state;
    struct live l = {0};
    struct hd_capture c = {0};
    ask_in_vain(&l, false);
    uint64_t signals = l.target.cost.signals;
    assert_int_equal(word_of(&l), HD_MAIL_IDLE);
    assert_int_equal(hd_capture_late(&l.target, &c), -EAGAIN);
    assert_int_equal(hd_capture_take(&l.target, true, &c), 0);
    assert_true(answers_late(&l, &c));
    assert_true(c.in_place);
    assert_int_equal(l.target.cost.signals, signals);
    live_end(&l);
}

static void a_second_request_keeps_the_first_ones_buffer(void **state) {
    (void)state;
    struct live l = {0}, other = {0};
    struct hd_capture c = {0};
    ask_in_vain(&l, true);
    assert_true(live_start(&other, live_body_spin));
    assert_true(hd_capture_may_be_in_place(&l.target));
    assert_false(hd_capture_may_be_in_place(&other.target));
    for (int i = 0; i < 2000 && (c.way != HD_WAY_SIGNALLED || !live_in_spin(c.regs.pc)); i++) {
        assert_int_equal(hd_capture_take(&other.target, false, &c), 0);
    }
    assert_false(c.in_place);
    assert_true(live_in_spin(c.regs.pc));
    assert_true(answers_late(&l, &c));
    assert_false(live_in_spin(c.regs.pc));
    assert_true(hd_capture_may_be_in_place(&other.target));
    live_end(&other);
    live_end(&l);
}

/* In a child, where the thread that was asked is not. */
static void a_start_forgets_earlier_requests(void **state) {
    (void)state;
    struct live l = {0};
    struct hd_target other = {0};
    ask_in_vain(&l, true);
    assert_false(hd_capture_may_be_in_place(&other));
    assert_int_equal(hd_capture_buffers(), 0);
    assert_true(hd_capture_may_be_in_place(&other));
    live_end(&l);
}

/* Asks a thread that computes by a signal that gets lost. */
static void ask_by_nothing(struct live *l) {
    struct hd_capture c = {0};
    real = hd_os;
    sent_to = 0;
    hd_os.signal_thread = swallow_signal;
    bool in_vain = capture_in_vain(l, true, is_swallowed, &c);
    hd_os = real;
    assert_true(in_vain);
    assert_int_not_equal(l->target.request.sequence, 0);
}

/* It was ignored for a moment, or the program took it by a signalfd. */
static void a_signal_that_gets_lost_is_sent_again(void **state) {
    (void)state;
    struct live l = {0};
    struct hd_capture c = {0};
    assert_true(live_start(&l, live_body_spin));
    assert_true(live_capture_spinning(&l, &c));
    ask_by_nothing(&l);
    assert_true(live_capture_spinning(&l, &c));
    assert_true(live_in_spin(c.regs.pc));
    live_end(&l);
}

static struct hd_mailbox *answers;

static long answer_and_read(int fd, void *to, size_t n, uint64_t at) {
    __atomic_store_n(&answers->word, hd_mail_word((uint32_t)sent_value, HD_MAIL_DONE), __ATOMIC_RELEASE);
    return real.pread(fd, to, n, at);
}

/* Between the look for its answer and the one at its signals. */
static void an_answer_that_has_just_come_is_there_for_the_next_look(void **state) {
    (void)state;
    struct live l = {0};
    struct hd_capture c = {0};
    assert_true(live_start(&l, live_body_spin));
    assert_true(live_capture_spinning(&l, &c));
    ask_by_nothing(&l);
    uint64_t signals = l.target.cost.signals;
    answers = l.mailbox;
    hd_os.pread = answer_and_read;
    int rc = hd_capture_take(&l.target, true, &c);
    hd_os = real;
    assert_int_equal(rc, 0);
    assert_int_equal(c.way, HD_WAY_KERNEL);
    assert_int_equal(l.target.cost.signals, signals);
    assert_int_equal(hd_capture_late(&l.target, &c), 0);
    assert_true(live_capture_spinning(&l, &c));
    live_end(&l);
}

static void body_blocks_the_signal(struct live *l) {
    sigset_t one;
    live_spin_until_stop(l);
    sigemptyset(&one);
    sigaddset(&one, SIGURG);
    pthread_sigmask(SIG_BLOCK, &one, NULL);
    live_set(&l->stop, 0);
    live_spin_until_stop(l);
    pthread_sigmask(SIG_UNBLOCK, &one, NULL);
}

/* It has left wherever it was when it was asked. */
static void who_is_seen_to_block_the_signal_is_not_believed(void **state) {
    (void)state;
    struct live l = {0};
    struct hd_capture c = {0};
    assert_true(live_start(&l, body_blocks_the_signal));
    assert_true(live_capture_spinning(&l, &c));
    ask_by_nothing(&l);
    live_set(&l.stop, 1);
    while (live_get(&l.stop) != 0) {
        live_nap(HD_NS_PER_MS);
    }
    assert_int_equal(hd_os.signal_thread(hd_os.get_pid(), l.tid, sent_signal, sent_value), 0);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(hd_capture_take(&l.target, true, &c), 0);
    }
    assert_int_equal(l.target.request.sequence, 0);
    assert_true(l.target.request.blocks_signal);
    live_set(&l.stop, 1); /* unblocks it: it arrives */
    assert_true(live_wait(&l.returned));
    assert_int_equal(word_of(&l), HD_MAIL_IDLE);
    live_end(&l);
}

static void a_signal_that_cannot_be_sent_leaves_the_kernels_word(void **state) {
    (void)state;
    struct live l = {0};
    struct hd_capture c = {0};
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
    struct hd_capture c = {0};
    assert_true(live_start(&l, live_body_spin));
    assert_true(live_start(&other, live_body_spin));
    put_off = &l;
    real = hd_os;
    hd_os.signal_thread = begin_only;
    bool in_vain = capture_in_vain(&l, false, is_put_off, &c);
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
    struct hd_capture c = {0};
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
    struct hd_capture c = {0};
    int count = 0;
    for (int i = 0; i < LOOKS; i++) {
        assert_int_equal(hd_capture_take(&l->target, false, &c), 0);
        assert_int_equal(c.way, HD_WAY_KERNEL);
        count += c.state == run;
    }
    return count;
}

static void finds_a_running_thread_without_a_stack(void **state) {
    (void)state;
    struct live l = {0};
    assert_true(live_start(&l, live_body_spin));
    l.target.request.signal = 0;
    int count = 0;
    bool ran = false; /* most of the time, by the kernel's figures: others want the processor, too */
    for (int i = 0; i < 10 && !ran; i++) {
        struct hd_sched before, after;
        assert_int_equal(hd_thread_clock_sched(&l.target.files, &before), 0);
        count = looks_that_say(&l, HD_RUN_RUNNING);
        assert_int_equal(hd_thread_clock_sched(&l.target.files, &after), 0);
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

static void finds_a_starved_thread_without_a_buffer(void **state) {
    (void)state;
    struct live hog = {0}, late = {0}, starved = {.arg = &hog};
    struct hd_capture c = {0};
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
        cmocka_unit_test(a_late_answer_shows_where_the_thread_was),
        cmocka_unit_test(a_forgotten_request_is_not_answered),
        cmocka_unit_test(a_request_of_the_turn_before_serves_the_next),
        cmocka_unit_test(who_had_nowhere_to_copy_to_has_it_with_the_next_sample),
        cmocka_unit_test(a_second_request_keeps_the_first_ones_buffer),
        cmocka_unit_test(a_start_forgets_earlier_requests),
        cmocka_unit_test(a_signal_that_gets_lost_is_sent_again),
        cmocka_unit_test(an_answer_that_has_just_come_is_there_for_the_next_look),
        cmocka_unit_test(who_is_seen_to_block_the_signal_is_not_believed),
        cmocka_unit_test(a_signal_that_cannot_be_sent_leaves_the_kernels_word),
        cmocka_unit_test(a_handler_put_off_in_mid_copy_closes_the_rung_until_it_is_done),
        cmocka_unit_test(a_handler_put_off_at_a_stop_keeps_what_it_copies_to),
        cmocka_unit_test(finds_a_running_thread_without_a_stack),
        cmocka_unit_test(finds_a_starved_thread_without_a_buffer),
    };
    hd_os_clock_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
