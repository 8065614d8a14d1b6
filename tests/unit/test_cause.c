/* SPDX-License-Identifier: MIT
 *
 * What each kind of wait counts as, and which cause a turn's time adds up to.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cause_sums.h"

/* ---- classes ------------------------------------------------------------------------------ */

static void each_kind_of_blocking_call_has_its_cause(void **state) {
    (void)state;
    static const struct {
        int32_t nr;
        enum hd_cause_kind kind;
    } calls[] = {
        {SYS_nanosleep, HD_CAUSE_SLEEP},
        {SYS_clock_nanosleep, HD_CAUSE_SLEEP},
        {SYS_rt_sigtimedwait, HD_CAUSE_SLEEP},
        {SYS_rt_sigsuspend, HD_CAUSE_SLEEP},
        {SYS_wait4, HD_CAUSE_CHILD},
        {SYS_waitid, HD_CAUSE_CHILD},
        {SYS_futex, HD_CAUSE_LOCK},
        {SYS_flock, HD_CAUSE_LOCK},
        {SYS_fsync, HD_CAUSE_DISK},
        {SYS_openat, HD_CAUSE_DISK},
        {SYS_newfstatat, HD_CAUSE_DISK},
        {SYS_fchdir, HD_CAUSE_DISK},
        {SYS_chroot, HD_CAUSE_DISK},
        {SYS_mknodat, HD_CAUSE_DISK},
        {SYS_quotactl, HD_CAUSE_DISK},
        {SYS_lsetxattr, HD_CAUSE_DISK},
        {SYS_fsetxattr, HD_CAUSE_DISK},
        {SYS_llistxattr, HD_CAUSE_DISK},
        {SYS_flistxattr, HD_CAUSE_DISK},
        {SYS_removexattr, HD_CAUSE_DISK},
        {SYS_lremovexattr, HD_CAUSE_DISK},
        {SYS_fremovexattr, HD_CAUSE_DISK},
        {SYS_fanotify_mark, HD_CAUSE_DISK},
        {SYS_bind, HD_CAUSE_DISK},
        {SYS_io_pgetevents, HD_CAUSE_DISK},
        {SYS_inotify_add_watch, HD_CAUSE_DISK},
        {SYS_name_to_handle_at, HD_CAUSE_DISK},
        {SYS_open_by_handle_at, HD_CAUSE_DISK},
#ifdef __x86_64__
        {SYS_mknod, HD_CAUSE_DISK},
        {SYS_utime, HD_CAUSE_DISK},
        {SYS_utimes, HD_CAUSE_DISK},
        {SYS_lchown, HD_CAUSE_DISK},
        {SYS_futimesat, HD_CAUSE_DISK},
#endif
        {SYS_connect, HD_CAUSE_NETWORK},
        {SYS_recvfrom, HD_CAUSE_NETWORK},
        {SYS_accept4, HD_CAUSE_NETWORK},
        {SYS_io_uring_enter, HD_CAUSE_UNKNOWN},
        {99999, HD_CAUSE_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        assert_int_equal(kind_of(blocked(calls[i].nr)), calls[i].kind);
    }
}

static void a_descriptor_decides_what_a_read_waits_for(void **state) {
    (void)state;
    assert_int_equal(kind_on(SYS_read, HD_RUN_BLOCKED, HD_FD_NONE, false), HD_CAUSE_UNKNOWN);
    assert_int_equal(kind_on(SYS_read, HD_RUN_BLOCKED, HD_FD_FILE, false), HD_CAUSE_DISK);
    assert_int_equal(kind_on(SYS_read, HD_RUN_BLOCKED, HD_FD_INET, false), HD_CAUSE_NETWORK);
    assert_int_equal(kind_on(SYS_read, HD_RUN_BLOCKED, HD_FD_UNIX, false), HD_CAUSE_NETWORK);
    assert_int_equal(kind_on(SYS_read, HD_RUN_BLOCKED, HD_FD_PIPE, false), HD_CAUSE_UNKNOWN);
    assert_int_equal(kind_on(SYS_read, HD_RUN_BLOCKED, HD_FD_PIPE, true), HD_CAUSE_CHILD);
    assert_int_equal(kind_on(SYS_read, HD_RUN_BLOCKED, HD_FD_UNIX, true), HD_CAUSE_CHILD);
    assert_int_equal(kind_on(SYS_read, HD_RUN_UNINTERRUPTIBLE, HD_FD_OTHER, true), HD_CAUSE_DISK);
    assert_int_equal(kind_on(SYS_ioctl, HD_RUN_UNINTERRUPTIBLE, HD_FD_INET, false), HD_CAUSE_NETWORK);
    assert_int_equal(kind_on(SYS_close, HD_RUN_UNINTERRUPTIBLE, HD_FD_NONE, false), HD_CAUSE_DISK);
    assert_int_equal(kind_on(SYS_close, HD_RUN_UNINTERRUPTIBLE, HD_FD_PIPE, false), HD_CAUSE_UNKNOWN);
    assert_int_equal(kind_on(SYS_dup3, HD_RUN_UNINTERRUPTIBLE, HD_FD_INET, false), HD_CAUSE_NETWORK);
    assert_int_equal(kind_on(SYS_close_range, HD_RUN_BLOCKED, HD_FD_FILE, false), HD_CAUSE_DISK);
    /* no peer is waited for so: it is the memory that is copied */
    assert_int_equal(kind_on(SYS_read, HD_RUN_UNINTERRUPTIBLE, HD_FD_INET, false), HD_CAUSE_PAGE_FAULT);
    assert_int_equal(kind_on(SYS_read, HD_RUN_UNINTERRUPTIBLE, HD_FD_PIPE, false), HD_CAUSE_PAGE_FAULT);
}

static void what_a_poll_waits_for_decides(void **state) {
    (void)state;
    /* nothing: an old way to sleep */
    assert_int_equal(kind_on(SYS_ppoll, HD_RUN_BLOCKED, HD_FD_NONE, false), HD_CAUSE_SLEEP);
    assert_int_equal(kind_on(SYS_ppoll, HD_RUN_BLOCKED, HD_FD_NONE, true), HD_CAUSE_SLEEP);
    assert_int_equal(kind_on(SYS_ppoll, HD_RUN_BLOCKED, HD_FD_PIPE, true), HD_CAUSE_CHILD);
    assert_int_equal(kind_on(SYS_epoll_pwait, HD_RUN_BLOCKED, HD_FD_EPOLL, true), HD_CAUSE_CHILD);
    assert_int_equal(kind_on(SYS_epoll_pwait, HD_RUN_BLOCKED, HD_FD_INET, true), HD_CAUSE_NETWORK);
    assert_int_equal(kind_on(SYS_epoll_pwait, HD_RUN_BLOCKED, HD_FD_INET, false), HD_CAUSE_NETWORK);
    assert_int_equal(kind_on(SYS_epoll_pwait, HD_RUN_BLOCKED, HD_FD_UNIX, false), HD_CAUSE_NETWORK);
    assert_int_equal(kind_on(SYS_epoll_pwait, HD_RUN_BLOCKED, HD_FD_EVENT, false), HD_CAUSE_UNKNOWN);
}

static void uninterruptible_outside_a_call_is_a_page(void **state) {
    (void)state;
    struct hd_probe e = blocked(HD_SYSCALL_NONE);
    assert_int_equal(kind_of(e), HD_CAUSE_UNKNOWN);
    e.state = HD_RUN_UNINTERRUPTIBLE;
    assert_int_equal(kind_of(e), HD_CAUSE_PAGE_FAULT);
    add_times(e, 1);
    assert_kind(HD_CAUSE_PAGE_FAULT);
    assert_string_equal(cause.detail, "waited for memory to come from disk");
    e.syscall_nr = SYS_munmap;
    assert_int_equal(kind_of(e), HD_CAUSE_PAGE_FAULT);
    add_times(e, 3);
    assert_kind(HD_CAUSE_PAGE_FAULT);
    assert_string_equal(cause.detail, "waited for its memory map in munmap");
    e.syscall_nr = SYS_mlock2;
    assert_int_equal(kind_of(e), HD_CAUSE_PAGE_FAULT);
    e.syscall_nr = SYS_mlockall;
    assert_int_equal(kind_of(e), HD_CAUSE_PAGE_FAULT);
    e.syscall_nr = SYS_io_uring_enter;
    assert_int_equal(kind_of(e), HD_CAUSE_DISK);
}

/* ---- weighing ----------------------------------------------------------------------------- */

static void nothing_seen_is_unknown(void **state) {
    (void)state;
    assert_kind(HD_CAUSE_UNKNOWN);
    assert_true(cause.share == 0);
    assert_int_equal(cause.syscall_nr, HD_SYSCALL_NONE);
    assert_string_equal(cause.detail, "no sample shows why");
}

static void running_is_cpu(void **state) {
    (void)state;
    struct hd_probe e = {.for_ns = 50 * MS, .cpu_ns = 50 * MS, .syscall_nr = HD_SYSCALL_NONE};
    add_times(e, 40);
    assert_kind(HD_CAUSE_CPU);
    assert_string_equal(cause.detail, "ran on a CPU for 100% of the time");
    assert_true(cause.share == 1);
}

static void the_kind_with_the_most_time_wins(void **state) {
    (void)state;
    add_times(blocked(SYS_clock_nanosleep), 30);
    add_times(blocked(SYS_fsync), 10);
    assert_kind(HD_CAUSE_SLEEP);
    assert_true(cause.share > 0.749 && cause.share < 0.751);
    assert_int_equal(cause.syscall_nr, SYS_clock_nanosleep);
    assert_string_equal(cause.detail, "slept in clock_nanosleep (75% of the time)");
}

static void a_blocked_samples_time_is_split(void **state) {
    (void)state;
    struct hd_probe e = blocked(SYS_fsync);
    e.for_ns = 100 * MS;
    e.cpu_ns = 30 * MS;
    e.delay_ns = 20 * MS;
    hd_cause_add(&sums, &e);
    assert_int_equal(sums.ns[HD_CAUSE_CPU], 30 * MS);
    assert_int_equal(sums.ns[HD_CAUSE_STARVED], 20 * MS);
    assert_int_equal(sums.ns[HD_CAUSE_DISK], 50 * MS);
    assert_int_equal(sums.total_ns, 100 * MS);
}

static void run_queue_delay_is_starved(void **state) {
    (void)state;
    struct hd_probe e = {
        .for_ns = 50 * MS, .cpu_ns = 5 * MS, .delay_ns = 45 * MS, .syscall_nr = HD_SYSCALL_NONE};
    add_times(e, 20);
    assert_kind(HD_CAUSE_STARVED);
    assert_int_equal(cause.run_delay_ns, 900 * MS);
    assert_string_equal(cause.detail,
                        "no CPU was free for 90% of the time (load or quota); ran on a CPU for 10%");
}

/* The first sample began 100 ms before the turn, as where its start is uncertain. */
static void limited_sums_are_parts_of_the_whole(void **state) {
    (void)state;
    struct hd_probe e = {
        .for_ns = 450 * MS, .cpu_ns = 90 * MS, .delay_ns = 360 * MS, .syscall_nr = HD_SYSCALL_NONE};
    hd_cause_add(&sums, &e);
    hd_cause_limit(&sums, 350 * MS);
    hd_cause_decide(&sums, &cause);
    assert_string_equal(cause.detail,
                        "no CPU was free for 80% of the time (load or quota); ran on a CPU for 20%");
    assert_in_range(cause.run_delay_ns, 275 * MS, 281 * MS);
}

/* A stop of 4 s was taken off, and then the kernel says that the thread waited for a CPU before. */
static void a_late_delay_takes_no_more_than_is_left(void **state) {
    (void)state;
    struct hd_probe e = {.for_ns = 5000 * MS, .state = HD_RUN_RUNNING, .syscall_nr = HD_SYSCALL_NONE};
    hd_cause_add(&sums, &e);
    hd_cause_limit(&sums, 1000 * MS);
    e = (struct hd_probe){.for_ns = 100 * MS, .delay_ns = 3000 * MS, .syscall_nr = HD_SYSCALL_NONE};
    hd_cause_add(&sums, &e);
    assert_int_equal(sums.ns[HD_CAUSE_CPU], 0);
    assert_int_equal(sums.ns[HD_CAUSE_STARVED], 1100 * MS);
}

/* Of a sleep of 7 s, as Linux 6.18 counts one in some. */
static void a_sleep_that_the_kernel_counts_as_delay_is_a_sleep(void **state) {
    (void)state;
    struct hd_probe e = {.for_ns = 700 * MS, .state = HD_RUN_BLOCKED, .syscall_nr = SYS_clock_nanosleep};
    add_times(e, 9);
    e.delay_ns = 6996 * MS;
    add_times(e, 1);
    assert_kind(HD_CAUSE_SLEEP);
    assert_int_equal(cause.run_delay_ns, 0);
    assert_int_equal(sums.ns[HD_CAUSE_STARVED], 0);
    assert_true(cause.share == 1);
}

static void whose_ends_were_waited_for_one_after_the_other_is_said(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct hd_probe e = blocked(SYS_futex);
        e.for_ns = (i == 1 ? 5 : 1) * HD_NS_PER_S;
        at_lock(&e, (struct hd_lock_seen){.address = 1000 + (uint64_t)i, .joined = {10 + (uint64_t)i}});
        hd_cause_add(&sums, &e);
    }
    hd_cause_decide(&sums, &cause);
    assert_string_equal(cause.detail, "waited for several threads to end, one thread 11");
}

static void takes_late_delay_from_assumed_running(void **state) {
    (void)state;
    struct hd_probe e = {.for_ns = 50 * MS, .syscall_nr = HD_SYSCALL_NONE, .state = HD_RUN_RUNNING};
    add_times(e, 9); /* waits for a processor all the time: no figure moves */
    assert_kind(HD_CAUSE_CPU);
    e.delay_ns = 480 * MS;
    e.cpu_ns = 20 * MS;
    add_times(e, 1);
    assert_kind(HD_CAUSE_STARVED);
    assert_int_equal(sums.ns[HD_CAUSE_STARVED], 480 * MS);
    uint64_t sum = 0;
    for (int i = 0; i < HD_CAUSE_KINDS; i++) {
        sum += sums.ns[i];
    }
    assert_int_equal(sum, sums.total_ns);
}

static void decides_for_the_evidence_with_the_most_time(void **state) {
    (void)state;
    struct hd_probe a = blocked(SYS_read), b = blocked(SYS_fsync);
    at_descriptor(&a, HD_FD_FILE, "a.log");
    at_descriptor(&b, HD_FD_FILE, "b.db");
    add_times(a, 3);
    add_times(b, 9);
    add_times(a, 3);
    assert_kind(HD_CAUSE_DISK);
    assert_string_equal(cause.path, "b.db");
    assert_int_equal(cause.syscall_nr, SYS_fsync);
    assert_string_equal(cause.detail, "waited for the disk in several calls, one fsync of b.db");
}

static void gives_the_time_of_several_waits_to_none_of_them(void **state) {
    (void)state;
    struct hd_probe opens = blocked(SYS_openat), reads = blocked(SYS_read);
    at_descriptor(&opens, HD_FD_PIPE, "f3");
    at_descriptor(&reads, HD_FD_PIPE, "f3");
    add_times(opens, 24);
    assert_kind(HD_CAUSE_UNKNOWN);
    assert_string_equal(cause.detail, "waited in openat of f3");
    add_times(reads, 18);
    assert_kind(HD_CAUSE_UNKNOWN);
    assert_int_equal(cause.syscall_nr, SYS_openat);
    assert_string_equal(cause.detail, "waited in several calls, longest openat of f3");
    add_times(blocked(SYS_clock_nanosleep), 18); /* of another kind */
    reads.for_ns = MS;
    add_times(reads, 1);
    assert_kind(HD_CAUSE_UNKNOWN);
    assert_string_equal(cause.detail, "waited in several calls, longest openat of f3 (70% of the time)");
    fresh(NULL);
    opens.for_ns = HD_NS_PER_S;
    add_times(opens, 1);
    add_times(reads, 5);
    assert_kind(HD_CAUSE_UNKNOWN);
    assert_string_equal(cause.detail, "waited in openat of f3");
    fresh(NULL);
    for (int i = 0; i < 9; i++) { /* none has half of it */
        char file[16];
        snprintf(file, sizeof file, "f%d", i);
        at_descriptor(&opens, HD_FD_PIPE, file);
        add_times(opens, 1);
    }
    assert_kind(HD_CAUSE_UNKNOWN);
    assert_string_equal(cause.detail, "waited in several calls, one openat of f8");
    fresh(NULL); /* what it was is not known of most of it */
    add_times(blocked(HD_SYSCALL_NONE), 3);
    add_times(blocked(SYS_read), 1);
    assert_kind(HD_CAUSE_UNKNOWN);
    assert_string_equal(cause.detail, "waited, no sample shows for what");
}

static void a_wait_that_goes_on_after_a_stop_is_still_the_same(void **state) {
    (void)state;
    add_times(blocked(SYS_restart_syscall), 1);
    assert_kind(HD_CAUSE_UNKNOWN); /* nothing is known of the call before */
    fresh(NULL);
    add_times(blocked(SYS_clock_nanosleep), 1);
    add_times(blocked(SYS_restart_syscall), 19);
    assert_kind(HD_CAUSE_SLEEP);
    assert_string_equal(cause.detail, "slept in clock_nanosleep");
}

static void a_stopped_thread_is_unknown(void **state) {
    (void)state;
    struct hd_probe e = {.for_ns = 50 * MS, .state = HD_RUN_STOPPED, .syscall_nr = HD_SYSCALL_NONE};
    add_times(e, 2);
    assert_kind(HD_CAUSE_UNKNOWN);
}

#define TEST(f) cmocka_unit_test_setup(f, fresh)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(each_kind_of_blocking_call_has_its_cause),
        TEST(a_descriptor_decides_what_a_read_waits_for),
        TEST(what_a_poll_waits_for_decides),
        TEST(uninterruptible_outside_a_call_is_a_page),
        TEST(nothing_seen_is_unknown),
        TEST(running_is_cpu),
        TEST(the_kind_with_the_most_time_wins),
        TEST(a_blocked_samples_time_is_split),
        TEST(run_queue_delay_is_starved),
        TEST(limited_sums_are_parts_of_the_whole),
        TEST(a_late_delay_takes_no_more_than_is_left),
        TEST(a_sleep_that_the_kernel_counts_as_delay_is_a_sleep),
        TEST(whose_ends_were_waited_for_one_after_the_other_is_said),
        TEST(takes_late_delay_from_assumed_running),
        TEST(decides_for_the_evidence_with_the_most_time),
        TEST(gives_the_time_of_several_waits_to_none_of_them),
        TEST(a_wait_that_goes_on_after_a_stop_is_still_the_same),
        TEST(a_stopped_thread_is_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
