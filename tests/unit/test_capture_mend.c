/* SPDX-License-Identifier: MIT
 *
 * The handler repairs calls that its own signal broke, and no others. The test sends signals to a thread that
 * is mostly inside a call, which a capture never does, while signals of the program's own arrive.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

#include "capture/linux/restartable.h"
#include "capture/linux/signal_handler.h"
#include "capture/watched_thread.h"
#include "capture_live.h"

#define CALL_NS (3 * HD_NS_PER_MS)

struct storm {
    int (*call)(void); /* waits for CALL_NS; 0, or -EINTR */
    int own_signal;    /* 0: none of the program's */
    bool to_process;
    bool full_mask;      /* of its handler */
    bool restarts;       /* of its handler */
    uint64_t handler_ns; /* how long it takes */
    uint64_t run_ns;
    /* what came of it */
    unsigned calls, ended_early, without_cause, too_short, own_signals, swallowed;
    uint64_t restarted, interrupted, sent;
};

static struct storm *storm;
static __thread bool in_storm;    /* this thread is */
static unsigned handler_runs;     /* atomic: on that thread */
static uint64_t handler_began_ns; /* atomic: the last one */

static void own_handler(int signal) {
    int saved = errno;
    uint64_t now = hd_os_now_ns();
    (void)signal;
    __atomic_store_n(&handler_began_ns, now, __ATOMIC_RELAXED);
    __atomic_fetch_add(&handler_runs, in_storm ? 1 : 0, __ATOMIC_RELAXED);
    while (hd_os_now_ns() - now < storm->handler_ns) {
    }
    errno = saved;
}

static int fd_never; /* readable never */

static int call_poll(void) {
    struct pollfd p = {.fd = fd_never, .events = POLLIN};
    return poll(&p, 1, (int)(CALL_NS / HD_NS_PER_MS)) < 0 ? -errno : 0;
}

static int call_epoll_wait(void) {
    static int ep = -1;
    struct epoll_event e;
    if (ep < 0) {
        ep = epoll_create1(EPOLL_CLOEXEC);
    }
    return epoll_wait(ep, &e, 1, (int)(CALL_NS / HD_NS_PER_MS)) < 0 ? -errno : 0;
}

/* Written by libc with other instructions between the number and the call, where there is a second thread. */
static int call_epoll_pwait(void) {
    static int ep = -1;
    struct epoll_event e;
    if (ep < 0) {
        ep = epoll_create1(EPOLL_CLOEXEC);
    }
    return epoll_pwait(ep, &e, 1, (int)(CALL_NS / HD_NS_PER_MS), NULL) < 0 ? -errno : 0;
}

static int call_pselect(void) {
    struct timespec t = {0, (long)CALL_NS};
    return pselect(0, NULL, NULL, NULL, &t, NULL) < 0 ? -errno : 0;
}

static int call_nanosleep(void) {
    struct timespec t = {0, (long)CALL_NS};
    return nanosleep(&t, NULL) < 0 ? -errno : 0;
}

/* A call that the kernel itself makes again under SA_RESTART: only a handler without it ends it. */
static int call_read(void) {
    uint64_t value;
    return read(fd_never, &value, sizeof value) < 0 ? -errno : 0;
}

static uint32_t owned; /* the main thread's number: a mutex that it never gives back */

/* A call that the kernel makes again whatever the handlers are. */
static int call_lock_pi(void) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    uint64_t ns = (uint64_t)until.tv_nsec + CALL_NS;
    until.tv_sec += (time_t)(ns / HD_NS_PER_S);
    until.tv_nsec = (long)(ns % HD_NS_PER_S);
    long rc = syscall(SYS_futex, &owned, FUTEX_LOCK_PI_PRIVATE, 0, &until, NULL, 0);
    return rc < 0 && errno == ETIMEDOUT ? 0 : rc < 0 ? -errno : 1;
}

/* The two ways in which glibc from 2.41 on makes a call that can be cancelled: with a second thread, through
 * a function that gets the number in a register which an argument then replaces; and with the number on the
 * stack. Of the third, which only looks like the first, nobody knows where the number came from. */
long cancellable_241(long a, long b, long c, long d, long e, long f, long nr);
long cancellable_243(long a, long b, long c, long d, long e, long f, long nr);
long cancellable_unknown(long a, long b, long c, long d, long e, long f, long nr);
static int never_cancelled __asm__("never_cancelled") __attribute__((used));
#if defined(__x86_64__)
#define FROM_241(load)                        \
    "   push %rbx\n"                          \
    "   push %r9\n"                           \
    "   lea never_cancelled(%rip), %r11\n"    \
    "   mov %rcx, %r9\n"                      \
    "   mov %rsi, %rcx\n"                     \
    "   push %r8\n" load "   mov %rdx, %r8\n" \
    "   mov %rdi, %rdx\n"                     \
    "   mov %r11, %rdi\n"                     \
    "   call cancellable_arch\n"              \
    "   pop %rcx\n"                           \
    "   pop %rcx\n"                           \
    "   pop %rbx\n"                           \
    "   ret\n"
__asm__(
    ".text\n"
    "cancellable_arch:\n"
    "   mov (%rdi), %eax\n"
    "   testb $8, (%rdi)\n"
    "   jne abort@PLT\n"
    "   mov %rdi, %r11\n"
    "   mov %rsi, %rax\n"
    "   mov %rdx, %rdi\n"
    "   mov %rcx, %rsi\n"
    "   mov %r8, %rdx\n"
    "   mov %r9, %r10\n"
    "   mov 8(%rsp), %r8\n"
    "   mov 16(%rsp), %r9\n"
    "   mov %r11, 8(%rsp)\n"
    "   syscall\n"
    "   ret\n"
    ".globl cancellable_241\n"
    "cancellable_241:\n" FROM_241(
        "   mov 0x20(%rsp), %rsi\n") ".globl cancellable_unknown\n"
                                     "cancellable_unknown:\n" FROM_241(
                                         "   mov 0x20(%rsp), %rbx\n   mov %rbx, %rsi\n") ".globl cancellable_243\n"
                                                                                         "cancellable_243:\n"
                                                                                         "   mov %rcx, %r10\n"
                                                                                         "   mov 8(%rsp), %rax\n"
                                                                                         "   syscall\n"
                                                                                         "   ret\n");
#endif

static int call_poll_241(void) {
    struct pollfd p = {.fd = fd_never, .events = POLLIN};
    return (int)cancellable_241((long)&p, 1, (long)(CALL_NS / HD_NS_PER_MS), 0, 0, 0, SYS_poll);
}

static int call_poll_243(void) {
    struct pollfd p = {.fd = fd_never, .events = POLLIN};
    return (int)cancellable_243((long)&p, 1, (long)(CALL_NS / HD_NS_PER_MS), 0, 0, 0, SYS_poll);
}

static int call_poll_unknown(void) {
    struct pollfd p = {.fd = fd_never, .events = POLLIN};
    return (int)cancellable_unknown((long)&p, 1, (long)(CALL_NS / HD_NS_PER_MS), 0, 0, 0, SYS_poll);
}

static void storm_body(struct live *l) {
    uint64_t open = 0;
    in_storm = true;
    hd_os.signal_mask(SIG_SETMASK, &open, NULL);
    while (live_get(&l->stop) == 0) {
        unsigned runs = __atomic_load_n(&handler_runs, __ATOMIC_RELAXED);
        uint64_t begin = hd_os_now_ns();
        int rc = storm->call();
        uint64_t took = hd_os_now_ns() - begin;
        unsigned came = __atomic_load_n(&handler_runs, __ATOMIC_RELAXED) - runs;
        uint64_t at = __atomic_load_n(&handler_began_ns, __ATOMIC_RELAXED);
        storm->calls++;
        storm->own_signals += came;
        if (rc == -EINTR) {
            storm->ended_early++;
            storm->without_cause += came == 0;
        } else {
            storm->too_short += took < CALL_NS && live_get(&l->stop) == 0;
            /* One that came surely inside the call must have ended it, unless its handler lets calls restart
             * and this call is one that does. Those within the first and last moments may have come just
             * outside. */
            storm->swallowed +=
                came != 0 && at > begin + HD_NS_PER_MS / 5 && at + HD_NS_PER_MS / 5 < begin + took;
        }
    }
}

static unsigned random_seed = 1;

static uint64_t random_below(uint64_t n) {
    return (uint64_t)rand_r(&random_seed) % n;
}

/* Sends both kinds of signals at random times, mostly within 40 µs of each other. */
static void run_storm(struct storm *s) {
    struct live l = {0};
    struct sigaction own = {.sa_handler = own_handler, .sa_flags = s->restarts ? SA_RESTART : 0};
    uint64_t all = ~0ULL, before;

    storm = s;
    handler_runs = 0;
    if (s->full_mask) {
        sigfillset(&own.sa_mask);
    }
    if (s->own_signal != 0) {
        sigaction(s->own_signal, &own, NULL);
    }
    hd_os.signal_mask(SIG_SETMASK, &all, &before); /* what is sent to the process goes to the other thread */
    assert_true(live_start(&l, storm_body));
    uint64_t end = hd_os_now_ns() + s->run_ns;
    while (hd_os_now_ns() < end) {
        live_nap(random_below(4 * CALL_NS));
        bool both = s->own_signal != 0 && random_below(8) != 0;
        bool own_first = random_below(2) != 0;
        uint64_t apart = random_below(4) == 0 ? 0 : random_below(40 * HD_NS_PER_US);
        for (int i = 0; i < 2; i++) {
            if ((i == 0) == own_first && both) {
                if (s->to_process) {
                    kill(getpid(), s->own_signal);
                } else {
                    hd_os.signal_thread(hd_os.get_pid(), l.tid, s->own_signal, 0);
                }
            } else if ((i == 0) != own_first) {
                hd_os.signal_thread(hd_os.get_pid(), l.tid, SIGURG, 0xffffffff);
                s->sent++;
            }
            for (uint64_t from = hd_os_now_ns(); i == 0 && hd_os_now_ns() - from < apart;) {
            }
        }
    }
    live_set(&l.stop, 1);
    if (s->call == call_read) {
        uint64_t one = 1;
        assert_int_equal(write(fd_never, &one, sizeof one), sizeof one);
    }
    pthread_join(l.thread, NULL);
    uint64_t value;
    struct pollfd left = {.fd = fd_never, .events = POLLIN};
    if (poll(&left, 1, 0) == 1) {
        assert_int_equal(read(fd_never, &value, sizeof value), sizeof value);
    }
    s->restarted = l.mailbox->restarted_syscalls;
    s->interrupted = l.mailbox->interrupted_syscalls;
    hd_target_close(&l.target);
    hd_os_memory_give(l.memory, hd_capture_thread_bytes());
    hd_os.signal_mask(SIG_SETMASK, &before, NULL);
    print_message(
        "calls %u, of ours sent %lu restarted %lu interrupted %lu; of the program's own %u: ended %u, "
        "without cause %u, swallowed %u, too short %u\n",
        s->calls, s->sent, s->restarted, s->interrupted, s->own_signals, s->ended_early, s->without_cause,
        s->swallowed, s->too_short);
}

#define RUN_NS (HD_NS_PER_S / 2)

static void a_call_that_only_our_signal_broke_goes_on(void **state) {
    static int (*const calls[])(void) = {call_poll,      call_epoll_wait, call_epoll_pwait, call_pselect,
                                         call_nanosleep, call_poll_241,   call_poll_243};
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        struct storm s = {.call = calls[i], .run_ns = RUN_NS};
        run_storm(&s);
        assert_true(s.restarted > 10);
        assert_int_equal(s.interrupted, 0);
        assert_int_equal(s.ended_early, 0);
        assert_int_equal(s.too_short, 0);
    }
}

static void a_call_whose_number_is_not_known_ends_and_is_counted(void **state) {
    (void)state;
    struct storm s = {.call = call_poll_unknown, .run_ns = RUN_NS};
    run_storm(&s);
    assert_int_equal(s.restarted, 0);
    assert_true(s.interrupted > 10);
    /* two of ours that come at once, on a machine that stood still, find the same call ended */
    assert_in_range(s.interrupted, s.ended_early, s.ended_early + 2);
}

/* Where a handler holds ours back, each call that it ended may cost another one: its frame looks the same for
 * as long as nothing overwrites it. The thread sanitizer's handlers mask everything. */
static uint64_t allowed(const struct storm *s) {
#if defined(__SANITIZE_THREAD__)
    return s->own_signals;
#else
    return s->full_mask ? s->own_signals : 0;
#endif
}

static void check_causes(const struct storm *s) {
    assert_true(s->without_cause <= allowed(s));
}

/* A signal that comes in the less than a microsecond between the handler's last look and its return has, as
 * the program sees it, come just before the call; the test, which knows better, allows one in a hundred. */
static void check_true_signals(struct storm s) {
    s.run_ns = RUN_NS;
    run_storm(&s);
    check_causes(&s);
    assert_int_equal(s.too_short, 0);
    assert_true(s.own_signals > 20);
    assert_true(s.ended_early > 10);
    assert_true(s.swallowed <= 1 + s.own_signals / 50);
}

static void a_signal_of_the_programs_own_still_ends_the_call(void **state) {
    (void)state;
    check_true_signals((struct storm){.call = call_poll, .own_signal = SIGALRM});
    check_true_signals((struct storm){.call = call_poll, .own_signal = SIGRTMIN});
    check_true_signals((struct storm){.call = call_epoll_wait, .own_signal = SIGALRM, .to_process = true});
    check_true_signals((struct storm){.call = call_nanosleep, .own_signal = SIGRTMIN, .to_process = true});
    check_true_signals((struct storm){.call = call_poll, .own_signal = SIGRTMIN, .restarts = true});
}

static void so_does_one_whose_handler_masks_ours(void **state) {
    (void)state;
    check_true_signals(
        (struct storm){.call = call_poll, .own_signal = SIGALRM, .full_mask = true, .handler_ns = 30000});
    check_true_signals((struct storm){.call = call_epoll_wait,
                                      .own_signal = SIGRTMIN,
                                      .full_mask = true,
                                      .handler_ns = 30000,
                                      .to_process = true});
}

static void so_does_one_in_a_call_that_the_kernel_restarts_for_us(void **state) {
    (void)state;
    check_true_signals((struct storm){.call = call_read, .own_signal = SIGALRM});
    check_true_signals((struct storm){.call = call_read, .own_signal = SIGRTMIN});
}

static void a_lock_with_priority_inheritance_is_never_ended(void **state) {
    (void)state;
    owned = (uint32_t)hd_os.get_tid();
    if (call_lock_pi() == -ENOSYS) {
        skip();
    }
    struct storm s = {.call = call_lock_pi, .own_signal = SIGRTMIN, .run_ns = RUN_NS};
    run_storm(&s);
    assert_true(s.own_signals > 20);
    assert_int_equal(s.ended_early, 0);
    assert_int_equal(s.interrupted, 0);
}

static void *take_signals(void *stop) {
    uint64_t open = 0;
    hd_os.signal_mask(SIG_SETMASK, &open, NULL);
    while (live_get(stop) == 0) {
        live_nap(HD_NS_PER_MS);
    }
    return NULL;
}

/* A signal for the process that waits while our handler runs goes to another thread where one takes it: no
 * handler runs here, and it was ours that ended the call. */
static void a_call_that_ended_for_a_signal_which_another_thread_took_is_counted(void **state) {
    static int (*const waits[])(void) = {call_poll, call_read};
    (void)state;
    for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++) {
        struct storm s = {.call = waits[i], .own_signal = SIGRTMIN, .to_process = true, .run_ns = RUN_NS};
        pthread_t other;
        int stop = 0;
        assert_int_equal(pthread_create(&other, NULL, take_signals, &stop), 0);
        run_storm(&s);
        live_set(&stop, 1);
        pthread_join(other, NULL);
        assert_true(s.without_cause <= s.interrupted + allowed(&s));
    }
}

static void timers_of_the_program_keep_their_meaning(void **state) {
    (void)state;
    struct itimerval every = {{0, 4700}, {0, 4700}}, off = {{0, 0}, {0, 0}};
    struct storm s = {.call = call_poll, .run_ns = RUN_NS};
    struct sigaction own = {.sa_handler = own_handler};
    sigaction(SIGALRM, &own, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    run_storm(&s);
    setitimer(ITIMER_REAL, &off, NULL);
    check_causes(&s);
    assert_int_equal(s.too_short, 0);
    assert_true(s.ended_early > 20);
    /* The timer ends nearly as many calls as the samples: few are left to restart on a busy machine. */
    assert_true(s.restarted > 0);
    assert_true(s.swallowed <= 1 + s.own_signals / 50);
}

static void calls_that_have_done_something_are_never_made_again(void **state) {
    (void)state;
    assert_false(hd_restartable(SYS_close));
    assert_false(hd_restartable(SYS_connect));
    assert_false(hd_restartable(SYS_dup3));
    assert_false(hd_restartable(SYS_clone));
    assert_false(hd_restartable(-1));
    assert_true(hd_restartable(SYS_ppoll));
    assert_true(hd_restartable(SYS_futex));
    assert_true(hd_always_restarted(SYS_futex, FUTEX_LOCK_PI_PRIVATE));
    assert_true(hd_always_restarted(SYS_futex, FUTEX_LOCK_PI2 | FUTEX_CLOCK_REALTIME));
    assert_false(hd_always_restarted(SYS_futex, FUTEX_WAIT_BITSET_PRIVATE));
    assert_false(hd_always_restarted(SYS_read, FUTEX_LOCK_PI));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_that_have_done_something_are_never_made_again),
        cmocka_unit_test(a_call_that_only_our_signal_broke_goes_on),
        cmocka_unit_test(a_call_whose_number_is_not_known_ends_and_is_counted),
        cmocka_unit_test(a_signal_of_the_programs_own_still_ends_the_call),
        cmocka_unit_test(so_does_one_whose_handler_masks_ours),
        cmocka_unit_test(so_does_one_in_a_call_that_the_kernel_restarts_for_us),
        cmocka_unit_test(a_lock_with_priority_inheritance_is_never_ended),
        cmocka_unit_test(a_call_that_ended_for_a_signal_which_another_thread_took_is_counted),
        cmocka_unit_test(timers_of_the_program_keep_their_meaning),
    };
    hd_os_clock_init();
    fd_never = eventfd(0, EFD_CLOEXEC);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
