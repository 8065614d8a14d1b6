/* SPDX-License-Identifier: MIT
 *
 * Samples of a child that runs or sleeps on request: a look takes the newest one, and never an old one.
 * Skipped where the kernel gives no samples.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/live/sampled.h"
#include "os/os.h"

#define UNTIL_NS (20 * HD_NS_PER_S)
#define NAP_NS (20 * HD_NS_PER_MS)

static volatile bool *runs;
static uint8_t stack[SAMPLED_STACK_BYTES];

__attribute__((noinline)) static void spin(void) {
    while (*runs) {
    }
}

static pid_t start_child(void) {
    *runs = true;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) {
            spin();
            hd_os_nap(NAP_NS / 4);
        }
    }
    return pid;
}

/* Looks until a sample comes that is newer than `since_ns`. */
static struct hd_capture next_since(struct sampled *s, uint64_t since_ns) {
    struct hd_capture c;
    uint64_t until_ns = hd_os_now_ns() + UNTIL_NS;
    while (sampled_next(s, since_ns, 0, stack, &c) != 0) {
        assert_true(hd_os_now_ns() < until_ns);
        hd_os_nap(NAP_NS);
    }
    return c;
}

static void each_look_has_a_new_sample(void **state) {
    (void)state;
    struct sampled *s;
    pid_t pid = start_child();
    int rc = sampled_open(&s, pid);
    if (rc == -EACCES || rc == -EPERM) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        skip();
    }
    assert_int_equal(rc, 0);
    uint64_t before_ns = 0;
    for (unsigned i = 0; i < 10; i++) {
        uint64_t look_ns = hd_os_now_ns();
        struct hd_capture c = next_since(s, before_ns);
        assert_true(c.at_ns > before_ns && c.stack_bytes > 64);
        assert_true(c.regs.sp == c.stack_addr && c.regs.pc != 0);
        before_ns = look_ns;
        hd_os_nap(NAP_NS);
    }
    *runs = false;
    hd_os_nap(5 * NAP_NS);
    uint64_t since_ns = hd_os_now_ns(), until_ns = since_ns + UNTIL_NS;
    *runs = true; /* the sample that the kernel has made long ago is too old */
    struct hd_capture c = next_since(s, since_ns);
    assert_true(c.at_ns >= since_ns);
    kill(pid, SIGSTOP);
    waitpid(pid, NULL, WUNTRACED);
    while (sampled_next(s, hd_os_now_ns(), 0, stack, &c) != -EAGAIN) {
        assert_true(hd_os_now_ns() < until_ns);
    }
    since_ns = hd_os_now_ns();
    assert_int_equal(sampled_next(s, since_ns, 0, stack, &c), -EAGAIN);
    assert_true(hd_os_now_ns() - since_ns < HD_NS_PER_S); /* the call has not waited */
    sampled_close(s);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_look_has_a_new_sample)};
    hd_os_clock_init();
    runs = mmap(NULL, sizeof *runs, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return runs == MAP_FAILED ? 1 : cmocka_run_group_tests_name("samples", tests, NULL, NULL);
}
