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
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/sysinfo.h>

#include "capture/mailbox.h"
#include "capture/restartable.h"
#include "capture_live.h"

#define ASKED (64UL << 20) /* bytes: a tenth of a second and more */
#define LIMIT_NS (60 * HD_NS_PER_S)

static uint8_t bytes[ASKED];
static uint64_t short_calls;
static int spins; /* atomic */

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

static void calls_that_copy_much_say_how_much(void **state) {
    (void)state;
    assert_int_equal(hd_bytes_argument(SYS_getrandom, 0), 1);
    assert_int_equal(hd_bytes_argument(SYS_read, 0), 2);
    assert_int_equal(hd_bytes_argument(SYS_sendto, 0), 2);
    assert_int_equal(hd_bytes_argument(SYS_sendfile, ASKED), 3);
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
    };
    hd_os_clock_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
