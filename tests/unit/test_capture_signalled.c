/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include "capture/arch/machine.h"
#include "capture/linux/signal_handler.h"
#include "capture/watched_thread.h"
#include "capture_live.h"
#include "os/ticks.h"

#if defined(__x86_64__)
enum {
    REGISTERS = 0xffff,
    ARGUMENT = 5 /* rdi */
};
#elif defined(__aarch64__)
enum {
    REGISTERS = 0x7fffffff,
    ARGUMENT = 0
};
#endif

static void a_running_thread_answers_with_its_place_and_its_stack(void **state) {
    (void)state;
    struct live l = {0};
    struct hd_capture c;
    assert_true(live_start(&l, live_body_spin));
    for (int i = 0; i < 50; i++) {
        assert_true(live_capture_spinning(&l, &c));
        assert_true(live_in_spin(c.regs.pc));
        assert_int_equal(c.state, HD_RUN_RUNNING);
        assert_int_equal(c.regs.valid, REGISTERS);
        assert_int_equal(c.regs.r[ARGUMENT], (uint64_t)&l.stop); /* the spinning code's */
        assert_true(l.target.bounds.lo < c.regs.sp && c.regs.sp < l.target.bounds.hi);
        assert_int_equal(c.stack_addr, c.regs.sp - HD_RED_ZONE);
        uint64_t top;
        memcpy(&top, c.stack + HD_RED_ZONE, sizeof top);
        assert_int_equal(top,
                         *(const uint64_t *)c.regs.sp); /* the return address: that frame is still there */
        assert_true(c.at_ns <= hd_os_now_ns());
    }
    assert_true(l.target.cost.signals >= 50);
    assert_true(l.target.cost.pause_max_ns > 0);
    assert_int_equal(l.target.cost.interrupted_syscalls, 0);
    live_end(&l);
    assert_int_equal(l.leave_rc, 0);
}

/* The kernel then sends the signal without what goes with it. */
static void it_answers_where_no_more_signals_may_be_queued(void **state) {
    (void)state;
    struct live l = {0};
    struct hd_capture c;
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_SIGPENDING, &before), 0);
    assert_true(live_start(&l, live_body_spin));
    assert_int_equal(setrlimit(RLIMIT_SIGPENDING, &(struct rlimit){.rlim_max = before.rlim_max}), 0);
    bool answered = live_capture_spinning(&l, &c);
    assert_int_equal(setrlimit(RLIMIT_SIGPENDING, &before), 0);
    live_end(&l);
    assert_true(answered);
    assert_true(live_in_spin(c.regs.pc));
}

static uint64_t began_ns, began_ticks, suspended_ns;

static int clock_that_stood_still(int clock, struct timespec *time) {
    clock_gettime(clock, time);
    uint64_t ns = (uint64_t)time->tv_sec * HD_NS_PER_S + (uint64_t)time->tv_nsec - suspended_ns;
    *time = (struct timespec){.tv_sec = (time_t)(ns / HD_NS_PER_S), .tv_nsec = (long)(ns % HD_NS_PER_S)};
    return 0;
}

/* For most of the time that this program has run: the counter ran on. */
static void a_pause_is_as_long_as_it_is_also_after_a_suspend(void **state) {
    (void)state;
    struct live l = {0};
    struct hd_capture c;
    uint64_t ticks = 0;
    assert_true(live_start(&l, live_body_spin));
    live_nap(50 * HD_NS_PER_MS);
    uint64_t ran_ns = hd_os_now_ns() - began_ns, ran_ticks = hd_ticks_read() - began_ticks;
    struct hd_os_calls as_it_was = hd_os;
    suspended_ns = ran_ns / 10 * 9;
    hd_os.clock = clock_that_stood_still;
    for (int i = 0; i < 50; i++) {
        assert_true(live_capture_by(&l, HD_WAY_SIGNALLED, &c));
        ticks += l.mailbox->ticks_end - l.mailbox->ticks_begin;
    }
    hd_os = as_it_was;
    live_end(&l);
    double truth_ns = (double)ticks * (double)ran_ns / (double)ran_ticks;
    assert_in_range(l.target.cost.pause_total_ns, (uint64_t)(truth_ns / 2), (uint64_t)(truth_ns * 2));
}

static void body_deep(struct live *l) {
    uint8_t frame[100 * 1024];
    memset(frame, 0x77, sizeof frame);
    __asm__ volatile("" : : "r"(frame) : "memory");
    live_spin_until_stop(l);
    __asm__ volatile("" : : "r"(frame) : "memory");
}

static void a_stack_larger_than_the_buffer_is_cut_and_says_so(void **state) {
    (void)state;
    struct live l = {0};
    struct hd_capture c;
    assert_true(live_start(&l, body_deep));
    assert_true(live_capture_spinning(&l, &c));
    assert_true(c.truncated);
    assert_int_equal(c.stack_bytes, HD_STACK_BYTES_MAX);
    assert_int_equal(c.stack[HD_STACK_BYTES_MAX - 1], 0x77);
    live_end(&l);
}

static void *capture_the_main_thread(void *arg) {
    struct live *l = arg;
    static struct hd_capture c;
    bool whole = live_wait(&l->ready) && live_capture_spinning(l, &c) && live_capture_spinning(l, &c);
    l->returned = whole ? (int)c.stack_bytes : -1;
    live_set(&l->stop, 1);
    return NULL;
}

static __attribute__((noinline)) void spin_deep(struct live *l) {
    uint8_t frame[400 * 1024];
    memset(frame, 0x77, sizeof frame);
    __asm__ volatile("" : : "r"(frame) : "memory");
    live_set(&l->ready, 1);
    live_spin_until_stop(l);
    __asm__ volatile("" : : "r"(frame) : "memory");
}

/* What the kernel calls its stack is what it has used by then. */
static void a_main_threads_stack_is_whole_again_after_it_has_grown(void **state) {
    (void)state;
    struct live l = {.tid = hd_os.get_tid()};
    assert_int_equal(hd_capture_signal_init(SIGURG), 0);
    l.memory = hd_os_memory_take(hd_capture_thread_bytes());
    assert_int_equal(hd_capture_thread_enter(l.memory, &l.mailbox), 0);
    l.target = (struct hd_target){.watched = true, .mailbox = l.mailbox, .request.signal = SIGURG};
    assert_int_equal(hd_target_open(&l.target, hd_thread_id_of(l.tid)), 0);
    assert_int_equal(pthread_create(&l.thread, NULL, capture_the_main_thread, &l), 0);
    spin_deep(&l);
    pthread_join(l.thread, NULL);
    hd_target_close(&l.target);
    assert_int_equal(hd_capture_thread_leave(l.mailbox), 0);
    hd_os_memory_give(l.memory, hd_capture_thread_bytes());
    assert_int_equal(l.returned, HD_STACK_BYTES_MAX);
}

static void keeps_a_stack_in_place_while_others_are_taken(void **state) {
    (void)state;
    static uint8_t kept[HD_STACK_BYTES_MAX];
    struct live l = {0}, other = {0};
    struct hd_capture c, d;
    assert_true(live_start(&l, body_deep));
    assert_true(live_start(&other, live_body_spin));
    assert_true(live_capture_spinning(&l, &c));
    assert_true(c.in_place);
    memcpy(kept, c.stack, c.stack_bytes);
    for (unsigned taken = 0, tries = 0; taken < 20; tries++) {
        assert_true(tries < 10000);
        assert_int_equal(hd_capture_take(&other.target, false, &d), 0);
        assert_false(d.in_place);
        taken += d.way == HD_WAY_SIGNALLED;
        assert_ptr_not_equal(d.stack, c.stack);
    }
    assert_memory_equal(kept, c.stack, c.stack_bytes);
    struct live third = {0}; /* a thread that begins to be watched answers once, too */
    assert_true(live_start(&third, live_body_spin));
    assert_memory_equal(kept, c.stack, c.stack_bytes);
    assert_true(live_capture_by(&other, HD_WAY_SIGNALLED, &d));
    assert_ptr_equal(d.stack, c.stack);
    live_end(&third);
    live_end(&other);
    live_end(&l);
}

/* ---- a stack that is not the thread's own --------------------------------------------------------- */

static void a_coroutines_stack_is_read_with_care(void **state) {
    (void)state;
    struct live l = {.inside = live_body_spin};
    struct hd_capture c;
    assert_true(live_start(&l, live_body_coroutine));
    assert_true(live_capture_spinning(&l, &c));
    assert_false(c.regs.sp >= l.target.bounds.lo && c.regs.sp < l.target.bounds.hi);
    assert_true(c.stack_addr <= c.regs.sp && c.regs.sp + 8 < c.stack_addr + c.stack_bytes);
    assert_true(c.stack_bytes <= HD_OUTSIDE_BYTES);
    assert_memory_equal(c.stack + (c.regs.sp - c.stack_addr), (const void *)c.regs.sp, 8);
    live_end(&l);
}

/* ---- when no signal may be sent --------------------------------------------------------------------- */

static void a_signal_of_another_kind_is_refused(void **state) {
    (void)state;
    assert_int_equal(hd_capture_signal_init(SIGUSR1), -EINVAL);
    assert_int_equal(hd_capture_signal_init(SIGTERM), -EINVAL);
    assert_int_equal(hd_capture_signal_init(0), -EINVAL);
}

static int handled;

static void own_handler(int signal) {
    (void)signal;
    __atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
}

static void a_signal_that_the_program_handles_is_left_to_it(void **state) {
    (void)state;
    struct sigaction own = {.sa_handler = own_handler}, now;
    sigaction(SIGWINCH, &own, NULL);
    assert_int_equal(hd_capture_signal_init(SIGWINCH), -EBUSY);
    sigaction(SIGWINCH, NULL, &now);
    assert_true(now.sa_handler == own_handler);
    own.sa_handler = SIG_DFL;
    sigaction(SIGWINCH, &own, NULL);
}

/* haproxy with Lua handles SIGURG, and has stacks of running code all the same. */
static void a_signal_that_the_program_takes_later_gives_way_to_another_one(void **state) {
    (void)state;
    struct live l = {0};
    struct hd_capture c;
    struct sigaction own = {.sa_handler = own_handler};
    assert_true(live_start(&l, live_body_spin));
    assert_true(live_capture_spinning(&l, &c));
    sigaction(SIGURG, &own, NULL);
    assert_true(live_capture_by(&l, HD_WAY_SIGNALLED, &c));
    assert_int_equal(l.target.request.signal, SIGWINCH);
    assert_true(live_in_spin(c.regs.pc));
    sigaction(SIGWINCH, &own, NULL); /* and that one, too */
    uint64_t before = l.target.cost.signals;
    assert_true(live_capture_by(&l, HD_WAY_KERNEL, &c));
    assert_int_equal(l.target.request.signal, 0);
    assert_int_equal(l.target.cost.signals, before);
    assert_int_equal(__atomic_load_n(&handled, __ATOMIC_RELAXED), 0);
    assert_int_equal(c.stack_bytes, 0);
    assert_true(c.state == HD_RUN_RUNNING || c.state == HD_RUN_RUNNABLE);
    own.sa_handler = SIG_DFL;
    sigaction(SIGURG, &own, NULL);
    sigaction(SIGWINCH, &own, NULL);
    live_end(&l);
}

static void *sends_urgent_signals(void *stop) {
    while (live_get(stop) == 0) {
        kill(getpid(), SIGURG);
        live_nap(50 * HD_NS_PER_MS);
    }
    return NULL;
}

/* TCP's urgent data, say. Begun anew each time, a timeout of 300 ms would never be over. */
static void another_senders_signal_starts_no_timeout_anew(void **state) {
    (void)state;
    pthread_t sender;
    int stop = 0;
    assert_int_equal(hd_capture_signal_init(SIGURG), 0);
    uint64_t begin_ns = hd_os_now_ns();
    sigset_t none, urgent;
    sigemptyset(&none);
    sigemptyset(&urgent);
    sigaddset(&urgent, SIGURG);
    pthread_sigmask(SIG_BLOCK, &urgent, NULL); /* the sender's mask: this thread handles it */
    assert_int_equal(pthread_create(&sender, NULL, sends_urgent_signals, &stop), 0);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    struct timespec time = {.tv_nsec = 300 * 1000 * 1000};
    alarm(20); /* else for ever */
    (void)nanosleep(&time, NULL);
    alarm(0);
    uint64_t took_ns = hd_os_now_ns() - begin_ns;
    live_set(&stop, 1);
    pthread_join(sender, NULL);
    hd_capture_signal_end();
    assert_true(took_ns < 2 * HD_NS_PER_S);
}

static void a_forked_child_loses_the_handler_with_its_first_signal(void **state) {
    (void)state;
    int status = -1;
    assert_int_equal(hd_capture_signal_init(SIGURG), 0);
    pid_t child = fork();
    if (child == 0) {
        struct hd_kernel_action now = {0};
        kill(getpid(), SIGURG);
        (void)hd_os.signal_action(SIGURG, NULL, &now);
        _exit(now.handler == (void *)SIG_DFL ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    hd_capture_signal_end();
    assert_int_equal(status, 0);
}

static void body_blocks_the_signal(struct live *l) {
    uint64_t mask = 1ULL << (SIGURG - 1);
    hd_os.signal_mask(SIG_BLOCK, &mask, NULL);
    live_set(l->arg, 1);
    live_spin_until_stop(l);
}

static void describes_a_thread_that_blocks_the_signal_by_the_kernel(void **state) {
    (void)state;
    int blocked = 0;
    struct live l = {.arg = &blocked};
    struct hd_capture c;
    assert_true(live_start(&l, body_blocks_the_signal));
    assert_true(live_wait(&blocked));
    for (int i = 0; i < 5; i++) {
        assert_int_equal(hd_capture_take(&l.target, true, &c), 0);
        assert_int_equal(c.way, HD_WAY_KERNEL);
        assert_int_equal(c.syscall_nr, HD_SYSCALL_NONE);
    }
    assert_int_equal(l.target.cost.signals, 0);
    assert_int_equal(l.target.request.signal, SIGURG); /* it may open it again */
    live_end(&l);
}

static int opens;

static void body_blocks_the_signal_for_a_while(struct live *l) {
    uint64_t mask = 1ULL << (SIGURG - 1);
    hd_os.signal_mask(SIG_BLOCK, &mask, NULL);
    live_set(l->arg, 1);
    live_spin(&opens);
    hd_os.signal_mask(SIG_UNBLOCK, &mask, NULL);
    live_set(l->arg, 2);
    live_spin_until_stop(l);
}

static struct hd_os_calls real;

static int stands_still(uint64_t tid, uint64_t *ns) {
    (void)tid;
    *ns = 1;
    return 0;
}

/* As a program does that starts threads or processes: what it computes afterwards has a stack. */
static void signals_a_thread_again_once_it_unblocks_the_signal(void **state) {
    (void)state;
    int blocked = 0;
    struct live l = {.arg = &blocked};
    struct hd_capture c;
    assert_true(live_start(&l, body_blocks_the_signal_for_a_while));
    assert_true(live_wait(&blocked));
    for (int i = 0; i < 2; i++) { /* the first only looks how often it has waited */
        assert_int_equal(hd_capture_take(&l.target, true, &c), 0);
        assert_int_equal(c.way, HD_WAY_KERNEL);
    }
    live_set(&opens, 1);
    while (live_get(&blocked) != 2) {
    }
    int takes = 0;
    do {
        live_nap(10 * HD_NS_PER_MS);
        assert_int_equal(hd_capture_take(&l.target, true, &c), 0);
    } while (c.way != HD_WAY_SIGNALLED && ++takes < 20);
    print_message("after %d in vain\n", takes); /* where it has a processor for itself */
    assert_int_equal(c.way, HD_WAY_SIGNALLED);
    live_end(&l);
}

/* As one in sigwait does, who takes what it keeps blocked: it may be on its way out of there. */
static void signals_no_thread_that_has_not_run_since(void **state) {
    (void)state;
    struct live l = {0};
    struct hd_capture c;
    assert_true(live_start(&l, live_body_spin));
    assert_true(live_capture_spinning(&l, &c));
    l.target.request.blocks_signal = true;
    real = hd_os;
    hd_os.thread_cpu_clock = stands_still;
    uint64_t before = l.target.cost.signals;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(hd_capture_take(&l.target, true, &c), 0);
    }
    hd_os = real;
    assert_int_equal(l.target.cost.signals, before);
    assert_true(live_capture_spinning(&l, &c));
    live_end(&l);
}

static void an_unwatched_thread_is_never_sent_anything(void **state) {
    (void)state;
    struct live l = {0};
    struct hd_capture c;
    assert_true(live_start(&l, live_body_spin));
    l.target.watched = false;
    assert_int_equal(hd_capture_take(&l.target, true, &c), 0);
    assert_int_equal(c.way, HD_WAY_KERNEL);
    assert_int_equal(l.target.cost.signals, 0);
    assert_int_equal(hd_capture_frozen(&l.target, live_stack, &c), -EAGAIN);
    live_end(&l);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_running_thread_answers_with_its_place_and_its_stack),
        cmocka_unit_test(it_answers_where_no_more_signals_may_be_queued),
        cmocka_unit_test(a_pause_is_as_long_as_it_is_also_after_a_suspend),
        cmocka_unit_test(a_stack_larger_than_the_buffer_is_cut_and_says_so),
        cmocka_unit_test(a_main_threads_stack_is_whole_again_after_it_has_grown),
        cmocka_unit_test(keeps_a_stack_in_place_while_others_are_taken),
        cmocka_unit_test(a_coroutines_stack_is_read_with_care),
        cmocka_unit_test(a_signal_of_another_kind_is_refused),
        cmocka_unit_test(a_signal_that_the_program_handles_is_left_to_it),
        cmocka_unit_test(a_signal_that_the_program_takes_later_gives_way_to_another_one),
        cmocka_unit_test(another_senders_signal_starts_no_timeout_anew),
        cmocka_unit_test(a_forked_child_loses_the_handler_with_its_first_signal),
        cmocka_unit_test(describes_a_thread_that_blocks_the_signal_by_the_kernel),
        cmocka_unit_test(signals_a_thread_again_once_it_unblocks_the_signal),
        cmocka_unit_test(signals_no_thread_that_has_not_run_since),
        cmocka_unit_test(an_unwatched_thread_is_never_sent_anything),
    };
    hd_os_clock_init();
    began_ns = hd_os_now_ns();
    began_ticks = hd_ticks_read();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
