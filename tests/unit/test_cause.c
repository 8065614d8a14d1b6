/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "cause/cause.h"
#include "os/syscall_table.h"

#define MS HD_NS_PER_MS

static struct hd_cause_sums sums;
static struct hd_cause cause;

static int fresh(void **state) {
    (void)state;
    memset(&sums, 0, sizeof sums);
    return 0;
}

static struct hd_probe blocked(int32_t syscall_nr) {
    return (struct hd_probe){.for_ns = 50 * MS, .state = HD_RUN_BLOCKED, .syscall_nr = syscall_nr};
}

static void add_times(struct hd_probe e, int times) {
    for (int i = 0; i < times; i++)
        hd_cause_add(&sums, &e);
}

static void assert_kind(enum hd_cause_kind kind) {
    hd_cause_decide(&sums, &cause);
    assert_string_equal(hd_cause_name(cause.kind), hd_cause_name(kind));
}

static enum hd_cause_kind kind_of(struct hd_probe e) {
    return hd_cause_of_block(&e);
}

/* The same of a call with a descriptor of this kind, or with none. */
static enum hd_cause_kind kind_on(int32_t nr, enum hd_run_state state, enum hd_fd_kind fd, bool child_alive) {
    return kind_of((struct hd_probe){.syscall_nr = nr,
                                     .state = state,
                                     .fd_kind = fd,
                                     .has_fds = fd != HD_FD_NONE,
                                     .child_alive = child_alive});
}

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
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        assert_int_equal(kind_of(blocked(calls[i].nr)), calls[i].kind);
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
    assert_string_equal(cause.detail, "no CPU was free for 90% of the time (load or quota)");
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
        hd_cause_add(&sums, &(struct hd_probe){.for_ns = (i == 1 ? 5 : 1) * HD_NS_PER_S,
                                               .state = HD_RUN_BLOCKED,
                                               .syscall_nr = SYS_futex,
                                               .lock_address = 1000 + (uint64_t)i,
                                               .joined_tid = 10 + i});
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
    for (int i = 0; i < HD_CAUSE_KINDS; i++)
        sum += sums.ns[i];
    assert_int_equal(sum, sums.total_ns);
}

static void decides_for_the_evidence_with_the_most_time(void **state) {
    (void)state;
    struct hd_probe a = blocked(SYS_read), b = blocked(SYS_fsync);
    a.fd_kind = b.fd_kind = HD_FD_FILE;
    strcpy(a.path, "a.log");
    strcpy(b.path, "b.db");
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
    opens.fd_kind = reads.fd_kind = HD_FD_PIPE;
    strcpy(opens.path, "f3");
    strcpy(reads.path, "f3");
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
        snprintf(opens.path, sizeof opens.path, "f%d", i);
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

/* ---- sentences ---------------------------------------------------------------------------- */

static void names_the_owner_of_a_mutex(void **state) {
    (void)state;
    struct hd_probe e = blocked(SYS_futex);
    e.lock_address = 0x7f00deadbeef;
    add_times(e, 1);
    assert_kind(HD_CAUSE_LOCK);
    assert_string_equal(cause.detail, "waited for a condition or lock, owner unknown");
    e.lock_owner_tid = 1234;
    add_times(e, 1);
    assert_kind(HD_CAUSE_LOCK);
    assert_int_equal(cause.lock_owner_tid, 1234);
    assert_int_equal(cause.lock_address, 0x7f00deadbeef);
    assert_string_equal(cause.detail, "waited for a mutex held by thread 1234");
}

static void names_the_kind_of_a_lock(void **state) {
    static const struct {
        uint8_t kind;
        int32_t owner;
        uint32_t readers;
        const char *detail, *word;
    } cases[] = {
        {HD_LOCK_READ, 7, 0, "waited for a read-write lock held for writing by thread 7", "rwlock-read"},
        {HD_LOCK_WRITE, 0, 3, "waited for a read-write lock held for reading by 3 threads", "rwlock-write"},
        {HD_LOCK_WRITE, 0, 0, "waited for a read-write lock, owner unknown", "rwlock-write"},
        {HD_LOCK_CONDITION, 0, 0, "waited for a condition variable", "condition"},
        {HD_LOCK_BARRIER, 0, 0, "waited for a barrier", "barrier"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hd_probe e = blocked(SYS_futex);
        memset(&sums, 0, sizeof sums);
        e.lock_address = 0x7f00deadbeef;
        e.lock_kind = cases[i].kind;
        e.ownable = e.lock_kind == HD_LOCK_READ || e.lock_kind == HD_LOCK_WRITE;
        e.lock_owner_tid = cases[i].owner;
        e.lock_readers = cases[i].readers;
        add_times(e, 1);
        assert_kind(HD_CAUSE_LOCK);
        assert_string_equal(cause.detail, cases[i].detail);
        assert_string_equal(hd_cause_lock_word(cause.lock_kind), cases[i].word);
    }
}

static void a_collector_runs_and_waits_for_its_threads(void **state) {
    (void)state;
    struct hd_probe runs = {.for_ns = 50 * MS,
                            .state = HD_RUN_RUNNING,
                            .syscall_nr = HD_SYSCALL_NONE,
                            .collects = HD_COLLECTOR_V8};
    struct hd_probe joins = blocked(SYS_futex), starved = blocked(SYS_futex);
    joins.lock_address = 0x7f00deadbeef;
    joins.collects = HD_COLLECTOR_V8;
    add_times(runs, 3);
    add_times(joins, 3);
    starved.delay_ns = starved.for_ns;
    add_times(starved, 4); /* more than either, less than both */
    assert_kind(HD_CAUSE_GC);
    assert_string_equal(cause.detail, "ran V8's garbage collector (60% of the time)");
    joins.collects = HD_COLLECTOR_PYTHON; /* its finalizer waits for a lock of the program */
    add_times(joins, 20);
    assert_kind(HD_CAUSE_LOCK);
}

static void drawing_and_the_display_are_ui(void **state) {
    (void)state;
    struct hd_probe runs = {.for_ns = 50 * MS,
                            .state = HD_RUN_RUNNING,
                            .syscall_nr = HD_SYSCALL_NONE,
                            .draws = true,
                            .path = "libpango-1.0"};
    add_times(runs, 6);
    runs.draws = false;
    runs.path[0] = '\0';
    add_times(runs, 4);
    assert_kind(HD_CAUSE_UI);
    assert_string_equal(cause.detail, "ran a toolkit's code in libpango-1.0 (60% of the time)");
    add_times(runs, 3); /* less than half of its time on the CPU */
    assert_kind(HD_CAUSE_CPU);
    struct hd_probe waits = blocked(SYS_ppoll);
    waits.has_fds = waits.display = true;
    waits.fd_kind = HD_FD_UNIX;
    memcpy(waits.peer, "X0", 3);
    add_times(waits, 20);
    assert_kind(HD_CAUSE_UI);
    assert_string_equal(cause.detail, "waited for the display server X0 in ppoll (61% of the time)");
}

static void names_the_owner_with_the_most_time(void **state) {
    (void)state;
    struct hd_probe e = blocked(SYS_futex);
    e.lock_address = 0x7f00deadbeef;
    add_times(e, 5); /* nobody, for an instant in which it was passed on */
    e.lock_owner_tid = 1;
    add_times(e, 38);
    e.lock_owner_tid = 2;
    add_times(e, 2);
    hd_cause_decide(&sums, &cause);
    assert_int_equal(cause.lock_owner_tid, 1);
    assert_string_equal(cause.detail, "waited for a mutex held by several threads, longest by thread 1");
    add_times(e, 60);
    hd_cause_decide(&sums, &cause);
    assert_int_equal(cause.lock_owner_tid, 2);
}

static void a_child_and_a_peer_are_named(void **state) {
    (void)state;
    struct hd_probe e = blocked(SYS_wait4);
    e.child_pid = 77;
    add_times(e, 1);
    assert_kind(HD_CAUSE_CHILD);
    assert_int_equal(cause.child_pid, 77);
    assert_string_equal(cause.detail, "waited for child 77 in wait4");
    memcpy(e.child_name, "sleep", 5);
    fresh(NULL);
    add_times(e, 1);
    assert_kind(HD_CAUSE_CHILD);
    assert_string_equal(cause.detail, "waited for child 77 (sleep) in wait4");

    fresh(NULL);
    e = blocked(SYS_recvfrom);
    e.fd_kind = HD_FD_INET;
    memset(e.peer, 'p', sizeof e.peer); /* no NUL */
    add_times(e, 1);
    assert_kind(HD_CAUSE_NETWORK);
    assert_true(strncmp(cause.detail, "waited for the network: ppp", 27) == 0);
}

/* A user reads these: no address, no duration, no call where the object says more. */
static void a_sentence_says_what_was_waited_for(void **state) {
    (void)state;
    struct hd_probe e = blocked(SYS_fsync);
    e.fd_kind = HD_FD_FILE;
    strcpy(e.path, "session.log");
    add_times(e, 1);
    assert_kind(HD_CAUSE_DISK);
    assert_string_equal(cause.detail, "waited for the disk: fsync of session.log");

    fresh(NULL);
    e = blocked(SYS_ppoll);
    e.has_fds = true;
    e.fd_kind = HD_FD_INET;
    strcpy(e.peer, "10.0.0.5:5432");
    add_times(e, 1);
    assert_kind(HD_CAUSE_NETWORK);
    assert_string_equal(cause.detail, "waited for the network: 10.0.0.5:5432 in ppoll");
    add_times(blocked(SYS_clock_nanosleep), 3);
    add_times(e, 3);
    assert_kind(HD_CAUSE_NETWORK);
    assert_string_equal(cause.detail, "waited for the network: 10.0.0.5:5432 in ppoll (57% of the time)");

    fresh(NULL);
    e = blocked(SYS_recvmsg);
    e.fd_kind = HD_FD_UNIX;
    strcpy(e.peer, "dbus-daemon");
    add_times(e, 1);
    assert_kind(HD_CAUSE_NETWORK);
    assert_string_equal(cause.detail, "waited for the service dbus-daemon in recvmsg");

    fresh(NULL);
    e = blocked(SYS_futex);
    e.lock_address = 0x1000;
    e.joined_tid = 12;
    add_times(e, 1);
    assert_kind(HD_CAUSE_LOCK);
    assert_string_equal(cause.detail, "waited for thread 12 to end");
}

static void names_the_child_with_the_most_time(void **state) {
    (void)state;
    struct hd_probe e = blocked(SYS_wait4);
    add_times(e, 5); /* it was not known yet */
    e.child_pid = 77;
    add_times(e, 38);
    e.child_pid = 78;
    add_times(e, 2);
    hd_cause_decide(&sums, &cause);
    assert_int_equal(cause.child_pid, 77);
    assert_string_equal(cause.detail, "waited for several children, longest for 77 in wait4");
    e.child_pid = 79;
    add_times(e, 30); /* and those after it together have more */
    hd_cause_decide(&sums, &cause);
    assert_int_equal(cause.child_pid, 77);
    e.child_pid = 80;
    add_times(e, 60);
    hd_cause_decide(&sums, &cause);
    assert_int_equal(cause.child_pid, 80);
}

static void a_reply_that_another_thread_waits_for_is_network(void **state) {
    (void)state;
    struct hd_probe e = blocked(SYS_futex);
    e.request = "g_dbus_connection_call_sync";
    e.awaited = "a reply by D-Bus";
    e.lock_owner_tid = 1234;
    assert_int_equal(kind_of(e), HD_CAUSE_LOCK); /* a mutex that somebody has is one, whatever is above it */
    e.lock_owner_tid = 0;
    add_times(e, 1);
    assert_kind(HD_CAUSE_NETWORK);
    assert_string_equal(cause.detail, "waited for a reply by D-Bus in g_dbus_connection_call_sync");

    fresh(NULL);
    e.syscall_nr = SYS_ppoll;
    e.has_fds = e.child_alive = true;
    e.fd_kind = HD_FD_EVENT;
    strcpy(e.peer, "bus");
    add_times(e, 1);
    assert_kind(HD_CAUSE_NETWORK);
    assert_string_equal(cause.peer, "bus");
    assert_string_equal(cause.detail,
                        "waited for a reply by D-Bus in g_dbus_connection_call_sync, through bus");

    e.syscall_nr = SYS_clock_nanosleep; /* whoever sleeps there sleeps */
    assert_int_equal(kind_of(e), HD_CAUSE_SLEEP);
    e.syscall_nr = SYS_read;
    e.fd_kind = HD_FD_FILE;
    assert_int_equal(kind_of(e), HD_CAUSE_DISK);
}

static void names_an_unknown_call_by_its_number(void **state) {
    (void)state;
    add_times(blocked(99999), 1);
    assert_kind(HD_CAUSE_UNKNOWN);
    assert_string_equal(cause.detail, "waited in system call 99999");
}

/* ---- deadlocks ---------------------------------------------------------------------------- */

static void owners_in_a_ring_are_a_deadlock(void **state) {
    (void)state;
    const struct hd_waits_for edges[] = {{5, 6}, {1, 2}, {3, 1}, {2, 3}, {9, 1}};
    memset(&cause, 0, sizeof cause);
    assert_true(hd_cause_find_ring(&cause, edges, 5, 2));
    assert_int_equal(cause.deadlock_count, 3);
    int32_t sum = cause.deadlock[0] + cause.deadlock[1] + cause.deadlock[2];
    assert_int_equal(sum, 6);
    memset(&cause, 0, sizeof cause);
    assert_true(hd_cause_find_ring(&cause, edges, 5, 9)); /* waits for the ring and is not on it */
    assert_int_equal(cause.deadlock_count, 3);
    memset(&cause, 0, sizeof cause);
    assert_false(hd_cause_find_ring(&cause, edges, 5, 5));
    assert_false(hd_cause_find_ring(&cause, edges, 5, 4));
    assert_false(hd_cause_find_ring(&cause, edges, 0, 5));
    assert_int_equal(cause.deadlock_count, 0);
}

static void says_a_deadlock_in_a_sentence(void **state) {
    (void)state;
    const struct hd_waits_for two[] = {{1, 2}, {2, 1}}, one[] = {{4, 4}};
    assert_true(hd_cause_find_ring(&cause, two, 2, 1));
    assert_string_equal(cause.detail, "deadlock: 1 -> 2 -> 1");
    assert_true(hd_cause_find_ring(&cause, one, 1, 4));
    assert_string_equal(cause.detail, "deadlock: the thread waits for a mutex that it has locked itself");
}

static void a_ring_longer_than_the_array_is_none(void **state) {
    (void)state;
    struct hd_waits_for edges[20];
    for (int32_t i = 0; i < 20; i++)
        edges[i] = (struct hd_waits_for){i + 1, i == 19 ? 1 : i + 2};
    memset(&cause, 0, sizeof cause);
    assert_false(hd_cause_find_ring(&cause, edges, 20, 1));
    assert_int_equal(cause.deadlock_count, 0);
}

static void names_of_calls(void **state) {
    (void)state;
    assert_string_equal(hd_syscall_name(SYS_read), "read");
    assert_string_equal(hd_syscall_name(SYS_clock_nanosleep), "clock_nanosleep");
    assert_null(hd_syscall_name(HD_SYSCALL_NONE));
    assert_null(hd_syscall_name(99999));
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
        TEST(a_sleep_that_the_kernel_counts_as_delay_is_a_sleep),
        TEST(whose_ends_were_waited_for_one_after_the_other_is_said),
        TEST(takes_late_delay_from_assumed_running),
        TEST(decides_for_the_evidence_with_the_most_time),
        TEST(gives_the_time_of_several_waits_to_none_of_them),
        TEST(a_wait_that_goes_on_after_a_stop_is_still_the_same),
        TEST(a_stopped_thread_is_unknown),
        TEST(names_the_owner_of_a_mutex),
        TEST(names_the_kind_of_a_lock),
        TEST(a_collector_runs_and_waits_for_its_threads),
        TEST(drawing_and_the_display_are_ui),
        TEST(names_the_owner_with_the_most_time),
        TEST(a_child_and_a_peer_are_named),
        TEST(a_sentence_says_what_was_waited_for),
        TEST(names_the_child_with_the_most_time),
        TEST(a_reply_that_another_thread_waits_for_is_network),
        TEST(names_an_unknown_call_by_its_number),
        TEST(owners_in_a_ring_are_a_deadlock),
        TEST(says_a_deadlock_in_a_sentence),
        TEST(a_ring_longer_than_the_array_is_none),
        TEST(names_of_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
