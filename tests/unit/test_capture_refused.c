/* SPDX-License-Identifier: MIT
 *
 * A blocked thread is captured by a kernel that refuses some of its files, figures or memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "capture_live.h"

static struct hd_os_calls real;
static int no_sched_fd = -1, fake_syscall_fd = -1;
static const char *fake_syscall_text;

static long pread_without_sched(int fd, void *buf, size_t n, uint64_t offset) {
    if (fd == no_sched_fd) {
        memcpy(buf, "0 0 0\n", 6);
        return 6;
    }
    if (fd == fake_syscall_fd) {
        size_t length = strlen(fake_syscall_text);
        memcpy(buf, fake_syscall_text, length);
        return (long)length;
    }
    return real.pread(fd, buf, n, offset);
}

static long refuse_memory(int pid, uint64_t addr, void *buf, size_t n) {
    (void)pid;
    (void)addr;
    (void)buf;
    (void)n;
    return -EPERM;
}

static int refuse_all(int dir, const char *path, int flags, int mode) {
    (void)dir;
    (void)path;
    (void)flags;
    (void)mode;
    return -EMFILE;
}

static int refuse_open(int dir, const char *path, int flags, int mode) {
    size_t n = strlen(path);
    if (n > 8 && strcmp(path + n - 8, "/syscall") == 0) {
        return -EACCES;
    }
    return real.open_at(dir, path, flags, mode);
}

static void without_scheduling_figures_switches_serve(void **state) {
    (void)state;
    int fd;
    struct live l = {0};
    struct hd_capture c;
    assert_true(live_start_reader(&l, &fd, live_body_read));
    real = hd_os;
    no_sched_fd = l.target.files.schedstat_fd;
    hd_os.pread = pread_without_sched;
    assert_true(live_capture_in(&l, SYS_read, &c));
    assert_true(c.sched.slices > 0);
    assert_true(c.sched.cpu_ns > 0);
    assert_true(hd_thread_clock_rests(&l.target.files, &c.sched));
    assert_int_equal(hd_capture_take(&l.target, true, &c), 0);
    assert_true(c.same);
    hd_os = real;
    no_sched_fd = -1;
    live_end_reader(&l);
}

static void read_and_spin(struct live *l) {
    uint64_t value;
    if (read(*(int *)l->arg, &value, sizeof value) == sizeof value) {
        live_set(&l->returned, 1);
        live_spin_until_stop(l);
    }
}

static uint64_t clock_stands_at;

static int standing_clock(uint64_t tid, uint64_t *ns) {
    (void)tid;
    *ns = clock_stands_at;
    return 0;
}

/* Such a kernel counts when a thread leaves its processor: one that woke and computes has the same count as
 * while it was blocked. And where a hypervisor takes the time, its clock may be the same. */
static void without_scheduling_figures_a_thread_that_woke_is_not_still_blocked(void **state) {
    (void)state;
    int fd;
    struct live l = {0};
    struct hd_capture c;
    assert_true(live_start_reader(&l, &fd, read_and_spin));
    real = hd_os;
    no_sched_fd = l.target.files.schedstat_fd;
    hd_os.pread = pread_without_sched;
    assert_true(live_capture_in(&l, SYS_read, &c));
    uint64_t cpu_ns = c.sched.cpu_ns;
    clock_stands_at = cpu_ns;
    hd_os.thread_cpu_clock = standing_clock;
    assert_int_equal(eventfd_write(fd, 1), 0);
    assert_true(live_wait(&l.returned));
    assert_int_equal(hd_capture_take(&l.target, true, &c), 0);
    assert_int_not_equal(c.way, HD_WAY_FROZEN);
    hd_os.thread_cpu_clock = real.thread_cpu_clock;
    assert_true(live_capture_spinning(&l, &c));
    assert_true(c.sched.cpu_ns > cpu_ns);
    hd_os = real;
    no_sched_fd = -1;
    live_end_reader(&l);
}

/* The figures of one that runs are of the last tick. */
static void the_clock_of_a_thread_that_runs_is_in_its_figures_where_it_is_ahead(void **state) {
    (void)state;
    struct live l = {0};
    struct hd_capture c;
    assert_true(live_start(&l, live_body_spin));
    real = hd_os;
    hd_os.thread_cpu_clock = standing_clock;
    clock_stands_at = 1000 * HD_NS_PER_S;
    assert_true(live_capture_spinning(&l, &c));
    assert_int_equal(c.way, HD_WAY_SIGNALLED);
    assert_int_equal(c.sched.cpu_ns, clock_stands_at);
    l.target.request.signal = 0;
    assert_int_equal(hd_capture_take(&l.target, true, &c), 0);
    assert_int_equal(c.way, HD_WAY_KERNEL);
    assert_int_equal(c.sched.cpu_ns, clock_stands_at);
    clock_stands_at = 0;
    assert_int_equal(hd_capture_take(&l.target, true, &c), 0);
    assert_true(c.sched.cpu_ns > 0);
    hd_os = real;
    live_end(&l);
}

/* No descriptors are left, or there is no /proc: what is not known is not made up. */
static void works_by_the_clock_without_any_file(void **state) {
    (void)state;
    int fd;
    struct live l = {0};
    struct hd_target other = {0};
    struct hd_capture c;
    assert_true(live_start_reader(&l, &fd, read_and_spin));
    assert_true(live_capture_in(&l, SYS_read, &c));
    real = hd_os;
    hd_os.open_at = refuse_all;
    assert_int_equal(hd_target_open(&other, hd_thread_id_of(l.tid)), -EMFILE);
    memset(&c, 0x5a, sizeof c);
    assert_int_equal(hd_capture_take(&other, true, &c), 0);
    assert_int_equal(c.way, HD_WAY_KERNEL);
    assert_int_equal(c.state, HD_RUN_BLOCKED);
    assert_int_equal(c.syscall_nr, HD_SYSCALL_NONE);
    assert_false(hd_sched_known(&c.sched));
    assert_int_equal(c.sched.delay_ns, 0);
    assert_int_equal(eventfd_write(fd, 1), 0);
    assert_true(live_wait(&l.returned));
    for (int i = 0; i < 1000 && c.state != HD_RUN_RUNNING; i++) { /* it may have to wait for a processor */
        assert_int_equal(hd_capture_take(&other, true, &c), 0);
    }
    assert_int_equal(c.state, HD_RUN_RUNNING);
    assert_false(hd_sched_known(&c.sched));
    live_end_reader(&l);
    int rc;
    for (int i = 0; (rc = hd_capture_take(&other, true, &c)) == 0 && i < 1000; i++) {
        live_nap(HD_NS_PER_MS);
    }
    hd_os = real;
    assert_int_equal(rc, -ESRCH);
    assert_int_equal(c.state, HD_RUN_GONE);
    hd_target_close(&other);
}

static void a_stack_that_cannot_be_read_leaves_the_place_known(void **state) {
    (void)state;
    int fd;
    struct live l = {0};
    struct hd_target other = {0};
    struct hd_capture c;
    assert_true(live_start_reader(&l, &fd, live_body_read));
    assert_int_equal(hd_target_open(&other, hd_thread_id_of(l.tid)), 0);
    real = hd_os;
    hd_os.read_memory = refuse_memory;
    int rc = live_frozen_reading(&other, &c);
    hd_os = real;
    assert_int_equal(rc, 0);
    assert_int_equal(c.stack_bytes, 0);
    assert_true(c.regs.pc != 0);
    hd_target_close(&other);
    live_end_reader(&l);
}

static void a_page_fault_is_frozen_and_no_call(void **state) {
    (void)state;
    int fd;
    struct live l = {0};
    struct hd_capture c;
    char text[80];
    assert_true(live_start_reader(&l, &fd, live_body_read));
    assert_true(live_capture_in(&l, SYS_read, &c));
    real = hd_os;
    snprintf(text, sizeof text, "-1 0x%lx 0x%lx\n", c.regs.sp, (unsigned long)live_spin_begin);
    fake_syscall_text = text;
    fake_syscall_fd = l.target.files.syscall_fd;
    hd_os.pread = pread_without_sched;
    hd_target_forget_last(&l.target);
    int rc = hd_capture_take(&l.target, true, &c);
    hd_os = real;
    fake_syscall_fd = -1;
    assert_int_equal(rc, 0);
    assert_int_equal(c.way, HD_WAY_FROZEN);
    assert_int_equal(c.syscall_nr, HD_SYSCALL_NONE);
    assert_int_equal(c.regs.pc, (uint64_t)live_spin_begin);
    assert_int_equal(c.regs.valid, 0);
    assert_true(c.stack_bytes > 0);
    live_end_reader(&l);
}

static void works_with_the_files_that_can_be_opened(void **state) {
    (void)state;
    int fd;
    struct live l = {0};
    struct hd_target other = {0};
    struct hd_capture c;
    struct hd_sched sched;
    assert_true(live_start_reader(&l, &fd, live_body_read));
    real = hd_os;
    hd_os.open_at = refuse_open;
    int rc = hd_target_open(&other, hd_thread_id_of(l.tid));
    hd_os = real;
    assert_int_equal(rc, -EACCES);
    assert_int_equal(hd_thread_clock_sched(&other.files, &sched), 0);
    assert_true(hd_capture_frozen(&other, live_stack, &c) < 0);
    assert_int_equal(hd_capture_take(&other, true, &c), 0); /* the kernel's word */
    assert_int_equal(c.way, HD_WAY_KERNEL);
    assert_int_equal(c.stack_bytes, 0);
    assert_int_equal(c.state, HD_RUN_BLOCKED);
    hd_target_close(&other);
    assert_int_equal(hd_thread_clock_sched(&other.files, &sched) < 0, 1);
    live_end_reader(&l);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_scheduling_figures_switches_serve),
        cmocka_unit_test(without_scheduling_figures_a_thread_that_woke_is_not_still_blocked),
        cmocka_unit_test(the_clock_of_a_thread_that_runs_is_in_its_figures_where_it_is_ahead),
        cmocka_unit_test(works_by_the_clock_without_any_file),
        cmocka_unit_test(a_stack_that_cannot_be_read_leaves_the_place_known),
        cmocka_unit_test(a_page_fault_is_frozen_and_no_call),
        cmocka_unit_test(works_with_the_files_that_can_be_opened),
    };
    hd_os_clock_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
