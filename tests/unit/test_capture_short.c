/* SPDX-License-Identifier: MIT
 *
 * A thread that computes inside the kernel runs, and gets our signals. Calls that look for signals there end
 * early: such a call is counted, and the thread is left alone for longer and longer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/sysinfo.h>

#include "capture/linux/restartable.h"
#include "capture/linux/signal_handler.h"
#include "capture/watched_thread.h"
#include "capture_live.h"

#define WANTED (64UL << 20) /* bytes: a tenth of a second and more */
#define LIMIT_NS (20 * HD_NS_PER_S)

static uint8_t bytes[WANTED];
static uint64_t short_calls;
static unsigned attempts;
static int fallocated; /* 0, or an errno */
static int spins;      /* atomic */

/* Written as libc writes it, whatever libc is here: newer ones make such bytes without the kernel. */
long random_bytes(void *to, size_t n);
#if defined(__x86_64__)
__asm__(".text\n"
        ".globl random_bytes\n"
        "random_bytes:\n"
        "   xor %edx, %edx\n"
        "   mov $318, %eax\n"
        "   syscall\n"
        "   ret\n");
#endif

static void body_random(struct live *l) {
    while (live_get(&l->stop) == 0 && live_get(&spins) == 0) {
        long n = random_bytes(bytes, sizeof bytes);
        short_calls += n > HD_SHORT_BYTES && n < (long)sizeof bytes;
    }
    live_spin_until_stop(l);
}

/* Sampled ten times as often as a hang is, until `wanted` of its calls were broken. */
static bool sample_until_broken(struct live *l, uint64_t wanted) {
    struct hd_capture c;
    uint64_t until = hd_os_now_ns() + LIMIT_NS;
    while (l->target.cost.interrupted_syscalls < wanted && hd_os_now_ns() < until) {
        if (hd_capture_take(&l->target, true, &c) != 0) {
            return false;
        }
        live_nap(5 * HD_NS_PER_MS);
    }
    return l->target.cost.interrupted_syscalls >= wanted;
}

static void start_random(struct live *l) {
    short_calls = 0;
    live_set(&spins, 0);
    assert_true(live_start(l, body_random));
}

static void a_call_that_our_signal_cut_short_is_counted(void **state) {
    (void)state;
    struct live l = {0};
    start_random(&l);
    assert_true(sample_until_broken(&l, 3));
    live_set(&l.stop, 1);
    pthread_join(l.thread, NULL);
    uint64_t counted = l.mailbox->interrupted_syscalls;
    hd_target_close(&l.target);
    hd_os_memory_give(l.memory, hd_capture_thread_bytes());
    assert_int_equal(counted, short_calls);
}

/* How long it was between two signals that both broke a call, at least: from before the one was sent. */
static void each_call_that_was_broken_keeps_the_next_signal_longer_away(void **state) {
    (void)state;
    struct live l = {0};
    struct hd_capture c;
    uint64_t until = hd_os_now_ns() + LIMIT_NS, broken_ns = 0, apart_ns = 0;
    start_random(&l);
    while (apart_ns < 800 * HD_NS_PER_MS && hd_os_now_ns() < until) {
        struct hd_capture_cost before = l.target.cost;
        uint64_t now = hd_os_now_ns();
        assert_int_equal(hd_capture_take(&l.target, true, &c), 0);
        if (l.target.cost.signals != before.signals) {
            bool broken = l.target.cost.interrupted_syscalls != before.interrupted_syscalls;
            assert_true(hd_os_now_ns() - broken_ns >= apart_ns);
            broken_ns = broken ? now : 0;
            apart_ns = !broken ? 0 : apart_ns == 0 ? 100 * HD_NS_PER_MS : 2 * apart_ns;
        }
        live_nap(5 * HD_NS_PER_MS);
    }
    assert_int_equal(apart_ns, 800 * HD_NS_PER_MS);
    live_set(&spins, 1);
    do { /* a signal that broke nothing makes up for all before */
        assert_true(live_capture_spinning(&l, &c));
    } while (l.target.request.back_off.ns != 0 && hd_os_now_ns() < until);
    assert_int_equal(l.target.request.back_off.ns, 0);
    live_end(&l);
}

/* What comes next may be a hang of another kind, and has its stack. */
static void signals_a_thread_again_once_it_runs_in_user_mode(void **state) {
    (void)state;
    struct live l = {0};
    struct hd_capture c;
    start_random(&l);
    assert_true(sample_until_broken(&l, 1));
    uint64_t now = hd_os_now_ns(), signals = l.target.cost.signals;
    l.target.request.back_off.until_ns = now + 100 * HD_NS_PER_S;
    while (hd_os_now_ns() < now + HD_NS_PER_S) { /* not while it does what was broken */
        assert_int_equal(hd_capture_take(&l.target, true, &c), 0);
        live_nap(20 * HD_NS_PER_MS);
    }
    assert_int_equal(l.target.cost.signals, signals);
    live_set(&spins, 1);
    now = hd_os_now_ns();
    assert_true(live_capture_spinning(&l, &c));
    assert_true(live_in_spin(c.regs.pc));
    print_message("a stack after %.0f ms of 100 s\n", (double)(hd_os_now_ns() - now) / HD_NS_PER_MS);
    assert_true(hd_os_now_ns() - now < 10 * HD_NS_PER_S);
    live_end(&l);
}

/* ---- what begins again when it is broken ------------------------------------------------------------- */

static void body_all_or_nothing(struct live *l) {
    (void)l;
    do {
        attempts++;
    } while (random_bytes(bytes, sizeof bytes) != (long)sizeof bytes);
}

/* Older kernels look for a signal at each page, and take back what they had when there is one. */
static void body_fallocate(struct live *l) {
    int fd = memfd_create("hangdog", MFD_CLOEXEC);
    (void)l;
    do {
        attempts++;
        fallocated = posix_fallocate(fd, 0, 4 * (off_t)WANTED);
    } while (fallocated == EINTR);
    close(fd);
}

static void check_comes_to_an_end(void (*body)(struct live *)) {
    struct live l = {0};
    struct hd_capture c;
    uint64_t until = hd_os_now_ns() + LIMIT_NS;
    attempts = 0;
    assert_true(live_start(&l, body));
    while (live_get(&l.returned) == 0 && hd_os_now_ns() < until) {
        (void)hd_capture_take(&l.target, true, &c);
        live_nap(5 * HD_NS_PER_MS);
    }
    assert_int_equal(live_get(&l.returned), 1);
    live_end(&l);
    print_message("%u attempts, %lu signals\n", attempts, l.target.cost.signals);
    assert_true(attempts <= 16);
}

static void what_begins_again_when_it_is_broken_is_done_in_the_end(void **state) {
    (void)state;
    check_comes_to_an_end(body_all_or_nothing);
}

static void so_are_the_pages_of_a_file_in_memory(void **state) {
    (void)state;
    struct sysinfo memory;
    if (sysinfo(&memory) < 0 || memory.freeram * memory.mem_unit < 16 * WANTED) {
        print_message("this machine has too little memory to spare\n");
        skip();
    }
    check_comes_to_an_end(body_fallocate);
    assert_int_equal(fallocated, 0);
}

static void calls_that_copy_much_say_how_much(void **state) {
    (void)state;
    assert_int_equal(hd_bytes_argument(SYS_getrandom, 0), 1);
    assert_int_equal(hd_bytes_argument(SYS_read, 0), 2);
    assert_int_equal(hd_bytes_argument(SYS_sendto, 0), 2);
    assert_int_equal(hd_bytes_argument(SYS_sendfile, WANTED), 3);
    assert_int_equal(hd_bytes_argument(SYS_splice, 0), 4);
    assert_int_equal(hd_bytes_argument(SYS_recvfrom, MSG_WAITALL | MSG_NOSIGNAL), 2);
    assert_int_equal(hd_bytes_argument(SYS_recvfrom, MSG_NOSIGNAL), 0); /* gives what there is */
    assert_int_equal(hd_bytes_argument(SYS_poll, 0), 0);
    assert_int_equal(hd_bytes_argument(-1, 0), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_that_copy_much_say_how_much),
        cmocka_unit_test(a_call_that_our_signal_cut_short_is_counted),
        cmocka_unit_test(each_call_that_was_broken_keeps_the_next_signal_longer_away),
        cmocka_unit_test(signals_a_thread_again_once_it_runs_in_user_mode),
        cmocka_unit_test(what_begins_again_when_it_is_broken_is_done_in_the_end),
        cmocka_unit_test(so_are_the_pages_of_a_file_in_memory),
    };
    hd_os_clock_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
