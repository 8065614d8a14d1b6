/* SPDX-License-Identifier: MIT
 *
 * The sentence of a cause, which a user reads, and deadlocks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cause/cause.h"
#include "cause/deadlock.h"
#include "cause_sums.h"

/* ---- sentences ---------------------------------------------------------------------------- */

static void names_the_owner_of_a_mutex(void **state) {
    (void)state;
    struct hd_probe e = blocked(SYS_futex);
    at_lock(&e, (struct hd_lock_seen){.address = 0x7f00deadbeef});
    add_times(e, 1);
    assert_kind(HD_CAUSE_LOCK);
    assert_string_equal(cause.detail, "waited for a condition or lock, owner unknown");
    e.evidence.lock.owner.number = 1234;
    add_times(e, 1);
    assert_kind(HD_CAUSE_LOCK);
    assert_int_equal(cause.lock_owner.number, 1234);
    assert_int_equal(cause.lock_address, 0x7f00deadbeef);
    assert_string_equal(cause.detail, "waited for a mutex held by thread 1234");
}

static void names_the_party(void **state) {
    (void)state;
    struct hd_probe e = blocked(SYS_flock);
    at_descriptor(&e, HD_FD_FILE, "app.lock");
    add_times(e, 1);
    hd_evidence_set_party(&e, HD_PARTY_HOLDER, 4711, "py\x1bthon3"); /* a later sample finds the holder */
    add_times(e, 1);
    assert_kind(HD_CAUSE_LOCK);
    assert_string_equal(cause.detail, "waited for a file lock in flock on app.lock held by py?thon3 (4711)");
    assert_int_equal(cause.party.pid, 4711);
    hd_cause_forget_paths(&sums);
    assert_string_equal(sums.best[HD_CAUSE_LOCK].probe.party.name, "py?thon3");
    hd_evidence_set_party(&sums.best[HD_CAUSE_LOCK].probe, HD_PARTY_MOUNT, 0, "nfs server:/export");
    hd_cause_forget_paths(&sums);
    assert_string_equal(sums.best[HD_CAUSE_LOCK].probe.party.name, "");
}

static void names_the_kind_of_a_lock(void **state) {
    static const struct {
        uint8_t kind;
        uint64_t owner;
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
        at_lock(&e, (struct hd_lock_seen){
                        .address = 0x7f00deadbeef,
                        .kind = cases[i].kind,
                        .ownable = cases[i].kind == HD_LOCK_READ || cases[i].kind == HD_LOCK_WRITE,
                        .owner = {cases[i].owner},
                        .readers = cases[i].readers,
                    });
        add_times(e, 1);
        assert_kind(HD_CAUSE_LOCK);
        assert_string_equal(cause.detail, cases[i].detail);
        assert_string_equal(hd_words_lock(cause.lock_kind), cases[i].word);
    }
}

static void a_collector_runs_and_waits_for_its_threads(void **state) {
    (void)state;
    struct hd_probe runs = {.for_ns = 50 * MS,
                            .state = HD_RUN_RUNNING,
                            .syscall_nr = HD_SYSCALL_NONE,
                            .collector = HD_COLLECTOR_V8};
    struct hd_probe joins = blocked(SYS_futex), starved = blocked(SYS_futex);
    at_lock(&joins, (struct hd_lock_seen){.address = 0x7f00deadbeef});
    joins.collector = HD_COLLECTOR_V8;
    add_times(runs, 3);
    add_times(joins, 3);
    starved.delay_ns = starved.for_ns;
    add_times(starved, 4); /* more than either, less than both */
    assert_kind(HD_CAUSE_GC);
    assert_string_equal(cause.detail,
                        "ran V8's garbage collector (60% of the time); no CPU was free for 40%");
    joins.collector = HD_COLLECTOR_PYTHON; /* its finalizer waits for a lock of the program */
    add_times(joins, 20);
    assert_kind(HD_CAUSE_LOCK);
}

static void parts_of_less_than_half_are_in_the_sentence(void **state) {
    (void)state;
    struct hd_probe runs = {.for_ns = 50 * MS, .state = HD_RUN_RUNNING, .syscall_nr = HD_SYSCALL_NONE};
    struct hd_probe joins = blocked(SYS_futex), faults = blocked(HD_SYSCALL_NONE),
                    starved = blocked(SYS_futex);
    joins.collector = HD_COLLECTOR_V8;
    faults.state = HD_RUN_UNINTERRUPTIBLE;
    starved.delay_ns = starved.for_ns;
    add_times(runs, 30);
    runs.collector = HD_COLLECTOR_V8;
    add_times(runs, 20);
    assert_kind(HD_CAUSE_CPU);
    assert_string_equal(cause.detail, "ran on a CPU for 100% of the time, of it 40% collecting garbage");
    add_times(joins, 15);
    add_times(faults, 20);
    add_times(starved, 15);
    assert_kind(HD_CAUSE_CPU);
    assert_string_equal(cause.detail,
                        "ran on a CPU for 50% of the time, of it 40% collecting garbage; waited for "
                        "threads of its garbage collector for 15%; waited for memory from disk for "
                        "20%; no CPU was free for 15%");
    add_times(runs, 60);
    add_times(faults, 0);
    assert_kind(HD_CAUSE_GC);
    assert_string_equal(cause.detail,
                        "ran V8's garbage collector (59% of the time); waited for memory from disk for "
                        "13%");
}

static void drawing_and_the_display_are_ui(void **state) {
    (void)state;
    struct hd_probe runs = {.for_ns = 50 * MS,
                            .state = HD_RUN_RUNNING,
                            .syscall_nr = HD_SYSCALL_NONE,
                            .evidence = {.kind = HD_EVIDENCE_TOOLKIT, .name = "libpango-1.0"}};
    add_times(runs, 6);
    runs.evidence = (struct hd_evidence){0};
    add_times(runs, 4);
    assert_kind(HD_CAUSE_UI);
    assert_string_equal(cause.detail, "ran a toolkit's code in libpango-1.0 (60% of the time)");
    add_times(runs, 3); /* less than half of its time on the CPU */
    assert_kind(HD_CAUSE_CPU);
    struct hd_probe waits = blocked(SYS_ppoll);
    at_descriptor(&waits, HD_FD_UNIX, "");
    waits.peer = (struct hd_peer_seen){.display = true, .name = "X0"};
    add_times(waits, 20);
    assert_kind(HD_CAUSE_UI);
    assert_string_equal(cause.detail, "waited for the display server X0 in ppoll (61% of the time)");
}

static void names_the_owner_with_the_most_time(void **state) {
    (void)state;
    struct hd_probe e = blocked(SYS_futex);
    at_lock(&e, (struct hd_lock_seen){.address = 0x7f00deadbeef});
    add_times(e, 5); /* nobody, for an instant in which it was passed on */
    e.evidence.lock.owner.number = 1;
    add_times(e, 38);
    e.evidence.lock.owner.number = 2;
    add_times(e, 2);
    hd_cause_decide(&sums, &cause);
    assert_int_equal(cause.lock_owner.number, 1);
    assert_string_equal(cause.detail, "waited for a mutex held by several threads, longest by thread 1");
    add_times(e, 60);
    hd_cause_decide(&sums, &cause);
    assert_int_equal(cause.lock_owner.number, 2);
}

static void a_child_and_a_peer_are_named(void **state) {
    (void)state;
    struct hd_probe e = blocked(SYS_wait4);
    e.child.pid = 77;
    add_times(e, 1);
    assert_kind(HD_CAUSE_CHILD);
    assert_int_equal(cause.child_pid, 77);
    assert_string_equal(cause.detail, "waited for child 77 in wait4");
    memcpy(e.child.name, "sleep", 5);
    fresh(NULL);
    add_times(e, 1);
    assert_kind(HD_CAUSE_CHILD);
    assert_string_equal(cause.detail, "waited for child 77 (sleep) in wait4");

    fresh(NULL);
    e = blocked(SYS_recvfrom);
    at_descriptor(&e, HD_FD_INET, "");
    memset(e.peer.name, 'p', sizeof e.peer.name); /* no NUL */
    add_times(e, 1);
    assert_kind(HD_CAUSE_NETWORK);
    assert_true(strncmp(cause.detail, "waited for the network: ppp", 27) == 0);
}

/* A user reads these: no address, no duration, no call where the object says more. */
static void a_sentence_says_what_was_waited_for(void **state) {
    (void)state;
    struct hd_probe e = blocked(SYS_fsync);
    at_descriptor(&e, HD_FD_FILE, "session.log");
    add_times(e, 1);
    assert_kind(HD_CAUSE_DISK);
    assert_string_equal(cause.detail, "waited for the disk: fsync of session.log");

    fresh(NULL);
    e = blocked(SYS_ppoll);
    at_descriptor(&e, HD_FD_INET, "");
    strcpy(e.peer.name, "10.0.0.5:5432");
    add_times(e, 1);
    assert_kind(HD_CAUSE_NETWORK);
    assert_string_equal(cause.detail, "waited for the network: 10.0.0.5:5432 in ppoll");
    add_times(blocked(SYS_clock_nanosleep), 3);
    add_times(e, 3);
    assert_kind(HD_CAUSE_NETWORK);
    assert_string_equal(cause.detail, "waited for the network: 10.0.0.5:5432 in ppoll (57% of the time)");

    fresh(NULL);
    e = blocked(SYS_recvmsg);
    at_descriptor(&e, HD_FD_UNIX, "");
    strcpy(e.peer.name, "dbus-daemon");
    add_times(e, 1);
    assert_kind(HD_CAUSE_NETWORK);
    assert_string_equal(cause.detail, "waited for the service dbus-daemon in recvmsg");

    fresh(NULL);
    e = blocked(SYS_futex);
    at_lock(&e, (struct hd_lock_seen){.address = 0x1000, .joined = {12}});
    add_times(e, 1);
    assert_kind(HD_CAUSE_LOCK);
    assert_string_equal(cause.detail, "waited for thread 12 to end");
}

static void names_the_child_with_the_most_time(void **state) {
    (void)state;
    struct hd_probe e = blocked(SYS_wait4);
    add_times(e, 5); /* it was not known yet */
    e.child.pid = 77;
    add_times(e, 38);
    e.child.pid = 78;
    add_times(e, 2);
    hd_cause_decide(&sums, &cause);
    assert_int_equal(cause.child_pid, 77);
    assert_string_equal(cause.detail, "waited for several children, longest for 77 in wait4");
    e.child.pid = 79;
    add_times(e, 30); /* and those after it together have more */
    hd_cause_decide(&sums, &cause);
    assert_int_equal(cause.child_pid, 77);
    e.child.pid = 80;
    add_times(e, 60);
    hd_cause_decide(&sums, &cause);
    assert_int_equal(cause.child_pid, 80);
}

static void a_reply_that_another_thread_waits_for_is_network(void **state) {
    (void)state;
    struct hd_probe e = blocked(SYS_futex);
    e.peer.request = "g_dbus_connection_call_sync";
    e.peer.awaited = "a reply by D-Bus";
    at_lock(&e, (struct hd_lock_seen){.owner = {1234}});
    assert_int_equal(kind_of(e), HD_CAUSE_LOCK); /* a mutex that somebody has is one, whatever is above it */
    e.evidence.lock.owner.number = 0;
    add_times(e, 1);
    assert_kind(HD_CAUSE_NETWORK);
    assert_string_equal(cause.detail, "waited for a reply by D-Bus in g_dbus_connection_call_sync");

    fresh(NULL);
    e.syscall_nr = SYS_ppoll;
    e.child.alive = true;
    at_descriptor(&e, HD_FD_EVENT, "");
    strcpy(e.peer.name, "bus");
    add_times(e, 1);
    assert_kind(HD_CAUSE_NETWORK);
    assert_string_equal(cause.peer, "bus");
    assert_string_equal(cause.detail,
                        "waited for a reply by D-Bus in g_dbus_connection_call_sync, through bus");

    e.syscall_nr = SYS_clock_nanosleep; /* whoever sleeps there sleeps */
    assert_int_equal(kind_of(e), HD_CAUSE_SLEEP);
    e.syscall_nr = SYS_read;
    at_descriptor(&e, HD_FD_FILE, "");
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
    const struct hd_waits_for edges[] = {{{5}, {6}}, {{1}, {2}}, {{3}, {1}}, {{2}, {3}}, {{9}, {1}}};
    memset(&cause, 0, sizeof cause);
    assert_true(hd_cause_find_ring(&cause, edges, 5, hd_thread_id_of(2)));
    assert_int_equal(cause.deadlock_count, 3);
    uint64_t sum = cause.deadlock[0].number + cause.deadlock[1].number + cause.deadlock[2].number;
    assert_int_equal(sum, 6);
    memset(&cause, 0, sizeof cause);
    assert_true(
        hd_cause_find_ring(&cause, edges, 5, hd_thread_id_of(9))); /* waits for the ring and is not on it */
    assert_int_equal(cause.deadlock_count, 3);
    memset(&cause, 0, sizeof cause);
    assert_false(hd_cause_find_ring(&cause, edges, 5, hd_thread_id_of(5)));
    assert_false(hd_cause_find_ring(&cause, edges, 5, hd_thread_id_of(4)));
    assert_false(hd_cause_find_ring(&cause, edges, 0, hd_thread_id_of(5)));
    assert_int_equal(cause.deadlock_count, 0);
}

static void says_a_deadlock_in_a_sentence(void **state) {
    (void)state;
    const struct hd_waits_for two[] = {{{1}, {2}}, {{2}, {1}}}, one[] = {{{4}, {4}}};
    assert_true(hd_cause_find_ring(&cause, two, 2, hd_thread_id_of(1)));
    assert_string_equal(cause.detail, "deadlock: 1 -> 2 -> 1");
    assert_true(hd_cause_find_ring(&cause, one, 1, hd_thread_id_of(4)));
    assert_string_equal(cause.detail, "deadlock: the thread waits for a mutex that it has locked itself");
}

static void a_ring_longer_than_the_array_is_none(void **state) {
    (void)state;
    struct hd_waits_for edges[20];
    for (uint64_t i = 0; i < 20; i++) {
        edges[i] = (struct hd_waits_for){{i + 1}, {i == 19 ? 1 : i + 2}};
    }
    memset(&cause, 0, sizeof cause);
    assert_false(hd_cause_find_ring(&cause, edges, 20, hd_thread_id_of(1)));
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
        TEST(names_the_owner_of_a_mutex),
        TEST(names_the_party),
        TEST(names_the_kind_of_a_lock),
        TEST(a_collector_runs_and_waits_for_its_threads),
        TEST(parts_of_less_than_half_are_in_the_sentence),
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
