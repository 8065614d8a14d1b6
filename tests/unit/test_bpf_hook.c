/* SPDX-License-Identifier: MIT
 *
 * A hook by BPF programs on the waits of a child that runs a loop. The child writes the times of its long
 * turns to shared memory, and the hook must see the same. HANGDOG_HOOK names the way; without it: switches.
 * Skipped without the rights, or in a build without BPF.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "os/os.h"
#include "outside/hook.h"
#include "outside/linux/bpf_state.h"

#define LONG_NS (100 * HD_NS_PER_MS)
#define HANG_NS (300 * HD_NS_PER_MS)
#define UNTIL_NS (20 * HD_NS_PER_S)
#define LOOK_NS (20 * HD_NS_PER_MS)
/* The test asserts loosely: the machine is busy. It prints the differences. */
#define NEAR_NS (50 * HD_NS_PER_MS)

/* ---- the child ---------------------------------------------------------------------------------- */

struct child_times {
    volatile uint64_t start_ns, end_ns; /* of the last long turn */
    volatile bool ready;                /* the loop's wait returns at once */
    volatile int tid;                   /* of a thread that it makes */
};
static struct child_times *shared;
static int event[2];

static void sleep_ns(uint64_t ns) {
    struct timespec t = {.tv_sec = (time_t)(ns / HD_NS_PER_S), .tv_nsec = (long)(ns % HD_NS_PER_S)};
    nanosleep(&t, NULL);
}

static void run_long(bool burns) {
    uint64_t start = hd_os_now_ns();
    shared->start_ns = start;
    if (!burns) {
        sleep_ns(HANG_NS);
    }
    while (hd_os_now_ns() - start < HANG_NS) {
    }
    shared->end_ns = hd_os_now_ns();
}

static void *run_thread(void *unused) {
    (void)unused;
    shared->tid = (int)hd_os.get_tid();
    sleep_ns(50 * HD_NS_PER_MS);
    return NULL;
}

static void make_thread(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_thread, NULL) == 0) {
        pthread_join(thread, NULL);
    }
}

static void make_child(void) {
    pid_t pid = fork();
    if (pid == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    waitpid(pid, NULL, 0);
}

static void handle(char byte) {
    struct pollfd none = {.fd = -1};
    struct timeval time = {.tv_usec = 1000};
    switch (byte) {
    case 's':
    case 'b':
        run_long(byte == 'b');
        break;
    case 'p':
        poll(&none, 1, 50);
        break;
    case 'P':
        ppoll(&none, 1, &(struct timespec){.tv_nsec = 1000000}, NULL);
        break;
    case 'S':
        select(0, NULL, NULL, NULL, &time);
        break;
    case 't':
        make_thread();
        break;
    case 'f':
        make_child();
        break;
    default:
        _exit(0);
    }
}

static void run_loop(void) {
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event in = {.events = EPOLLIN}, found;
    char byte;
    epoll_ctl(epoll, EPOLL_CTL_ADD, event[0], &in);
    for (;;) {
        if (epoll_wait(epoll, &found, 1, shared->ready ? 0 : -1) == 1 && read(event[0], &byte, 1) == 1) {
            handle(byte);
        }
    }
}

static void send_byte(char byte) {
    assert_int_equal(write(event[1], &byte, 1), 1);
}

/* ---- the watcher -------------------------------------------------------------------------------- */

static const struct hd_hook_way *way;
static struct hd_hook *hook;
static pid_t child;

static struct seen {
    unsigned sights, turns, began, ended, execs;
    struct hd_hook_sight sight;
    uint8_t stack[HD_STACK_COPY];
    struct hd_hook_turn turn;
    pid_t began_pid, began_tid, ended_tid, exec_pid;
    enum hd_wait_verdict verdict;    /* of the next sight */
    struct hd_hook_thread suspected; /* the last look at a long turn */
} seen;

static void on_sight(void *arg, pid_t tid, const struct hd_hook_sight *sight) {
    (void)arg;
    seen.sights++;
    seen.sight = *sight;
    assert_true(sight->stack_bytes <= sizeof seen.stack);
    if (sight->stack != NULL) {
        memcpy(seen.stack, sight->stack, sight->stack_bytes);
    }
    way->judge(hook, tid, sight->kind, seen.verdict);
}

static void on_turn(void *arg, pid_t tid, const struct hd_hook_turn *turn) {
    (void)arg, (void)tid;
    seen.turns++;
    seen.turn = *turn;
}

static void on_thread_began(void *arg, pid_t pid, pid_t tid) {
    (void)arg;
    seen.began++;
    seen.began_pid = pid;
    seen.began_tid = tid;
    (void)way->watch(hook, pid, tid);
}

static void on_thread_ended(void *arg, pid_t tid, uint64_t at_ns) {
    (void)arg, (void)at_ns;
    seen.ended++;
    seen.ended_tid = tid;
}

static void on_exec(void *arg, pid_t pid) {
    (void)arg;
    seen.execs += pid == seen.began_pid;
}

/* One look, as a watcher makes it: calls are hooked while a turn is long. */
static struct hd_hook_thread look(void) {
    struct hd_hook_thread t;
    uint64_t now = hd_os_now_ns();
    way->step(hook, now);
    way->read(hook, child, &t);
    bool is_long = !t.waits && now - (t.since_ns - t.earlier_ns) >= LONG_NS;
    way->suspect(hook, child, is_long);
    if (is_long) {
        seen.suspected = t;
    }
    return t;
}

#define look_until(condition)                                            \
    for (uint64_t until_ns = hd_os_now_ns() + UNTIL_NS; !(condition);) { \
        (void)look();                                                    \
        assert_true(hd_os_now_ns() < until_ns);                          \
        hd_os_nap(LOOK_NS);                                              \
    }

static bool waits_now(void) {
    return look().waits;
}

static void on_long_turn(void *found, pid_t tid) {
    *(bool *)found |= tid == child;
}

static bool turn_is_long(void) {
    bool found = false;
    way->long_turns(hook, hd_os_now_ns() - LONG_NS, on_long_turn, &found);
    return found;
}

static void watch_child(enum hd_wait_verdict verdict) {
    memset(&seen, 0, sizeof seen);
    seen.verdict = verdict;
    memset(shared, 0, sizeof *shared);
    child = child_start(run_loop, &event, 1);
    assert_int_equal(way->watch(hook, child, child), 0);
}

static int end(void **state) {
    (void)state;
    if (child != 0) { /* the test was not skipped */
        child_end(child, &event, 1);
        way->unwatch(hook, child);
        child = 0;
    }
    return 0;
}

static int64_t difference_us(uint64_t a, uint64_t b) {
    return (int64_t)(a - b) / 1000;
}

/* ---- tests -------------------------------------------------------------------------------------- */

static void a_first_sight_has_registers_and_stack(void **state) {
    (void)state;
    watch_child(HD_WAIT_IDLE);
    look_until(waits_now());
    unsigned sights = seen.sights;
    seen.verdict = HD_WAIT_BUSY;
    send_byte('p');
    look_until(seen.sights > sights);
    uint8_t memory[2048];
    struct iovec to = {memory, sizeof memory},
                 from = {(void *)(uintptr_t)seen.sight.stack_addr, sizeof memory};
    assert_true(seen.sight.blocks);
    assert_int_equal(seen.sight.args[1], 1); /* of descriptors */
    assert_true(seen.sight.stack_bytes >= sizeof memory && seen.sight.stack_addr == seen.sight.regs.sp);
    if (process_vm_readv(child, &to, 1, &from, 1, 0) == (ssize_t)sizeof memory) {
        assert_memory_equal(seen.stack, memory, sizeof memory);
    }
    look_until(waits_now());
    struct hd_wait_times times;
    way->times(hook, child, seen.sight.kind, &times);
    assert_int_equal(times.waits, 1);
    assert_true(times.waited_ns >= 49 * HD_NS_PER_MS && times.first != 0 && times.ended_ns > times.first);
}

static void a_new_kind_leaves_the_wait_from_before_the_watch(void **state) {
    (void)state;
    watch_child(HD_WAIT_BUSY);
    look_until(seen.sights > 0);
    unsigned sights = seen.sights;
    uint32_t first = seen.sight.kind;
    send_byte('p');
    look_until(seen.sights > sights);
    assert_int_not_equal(seen.sight.kind, first);
}

static void assert_turn(const char *what) {
    print_message("%s: start %+lld us, end %+lld us, earlier %lld us\n", what,
                  (long long)difference_us(seen.turn.start_ns, shared->start_ns),
                  (long long)difference_us(seen.turn.end_ns, shared->end_ns),
                  (long long)seen.turn.earlier_ns / 1000);
    assert_true(seen.turn.start_ns - seen.turn.earlier_ns <= shared->start_ns);
    assert_true(seen.turn.end_ns >= shared->end_ns);
    assert_true(seen.turn.end_ns - shared->end_ns < NEAR_NS);
}

static void long_turns_are_exact(void **state) {
    (void)state;
    watch_child(HD_WAIT_IDLE);
    look_until(waits_now());
    for (unsigned i = 0; i < 2; i++) {
        unsigned turns = seen.turns;
        send_byte(i == 0 ? 's' : 'b');
        look_until(seen.turns > turns);
        assert_turn(i == 0 ? "asleep" : "on a CPU");
        assert_int_equal(seen.turn.earlier_ns, 0);
        assert_true(shared->start_ns - seen.turn.start_ns < NEAR_NS);
        look_until(waits_now());
    }
    struct hd_hook_thread t = look();
    assert_true(t.known && t.turns >= 2 && t.longest_ns >= HANG_NS && t.busy_ns >= 2 * HANG_NS);
    assert_null(hook->programs.any_enter); /* nothing is hooked to all calls any more */
}

static void a_turn_is_seen_while_it_lasts(void **state) {
    (void)state;
    watch_child(HD_WAIT_IDLE);
    look_until(waits_now());
    send_byte('b');
    look_until(seen.suspected.known);
    assert_true(seen.suspected.since_ns - seen.suspected.earlier_ns <= shared->start_ns);
    look_until(waits_now());
}

static void a_long_turn_is_found_among_all_threads(void **state) {
    (void)state;
    uint32_t places = way->free_places(hook);
    watch_child(HD_WAIT_IDLE);
    assert_int_equal(way->free_places(hook), places - 1);
    look_until(waits_now());
    for (unsigned i = 0; i < 2; i++) {
        hd_os_nap(2 * LONG_NS);
        assert_false(turn_is_long()); /* it is long in its wait */
        send_byte('s');
        look_until(turn_is_long());
        look_until(waits_now());
    }
}

/* No wait of this loop blocks. The switches alone do not show where the long turn starts. */
static void a_turn_after_a_wait_that_did_not_block_has_an_uncertain_start(void **state) {
    (void)state;
    watch_child(HD_WAIT_IDLE);
    look_until(waits_now());
    shared->ready = true;
    send_byte('p');
    hd_os_nap(400 * HD_NS_PER_MS);
    for (unsigned i = 0; i < 10; i++) {
        (void)look();
        hd_os_nap(LOOK_NS);
    }
    assert_true(seen.turn.end_ns - seen.turn.start_ns < HANG_NS); /* a busy loop is no hang */
    send_byte('b');
    look_until(seen.turn.end_ns - seen.turn.start_ns >= HANG_NS / 2);
    assert_turn("never blocks");
    shared->ready = false;
    look_until(waits_now());
    (void)look();
    assert_null(hook->programs.any_enter);
}

/* Its waits before the first sight are not known, so the time since the attach is no turn. */
static void a_busy_loop_before_its_first_sight_is_in_no_long_turn(void **state) {
    (void)state;
    if (hook->all_calls) {
        skip(); /* this way sees each wait */
    }
    memset(&seen, 0, sizeof seen);
    memset(shared, 0, sizeof *shared);
    shared->ready = true;
    child = child_start(run_loop, &event, 1);
    hd_os_nap(LONG_NS);
    assert_int_equal(way->watch(hook, child, child), 0);
    hd_os_nap(3 * LONG_NS);
    struct hd_hook_thread t;
    way->step(hook, hd_os_now_ns());
    way->read(hook, child, &t);
    if (seen.sights == 0) { /* a busy machine may have taken its CPU in a wait */
        assert_true(!t.known && !t.waits && t.earlier_ns >= 2 * LONG_NS);
        assert_true(hd_os_now_ns() - t.since_ns < LONG_NS);
    }
    look_until(seen.sights > 0); /* under suspicion */
}

static void each_wait_call_is_seen(void **state) {
    (void)state;
    static const char calls[] = "pPS";
    watch_child(HD_WAIT_IDLE);
    look_until(waits_now());
    seen.verdict = HD_WAIT_BUSY;
    for (const char *call = calls; *call != '\0'; call++) {
        unsigned sights = seen.sights;
        send_byte(*call);
        look_until(seen.sights > sights);
        look_until(waits_now());
    }
}

static void threads_and_processes_come_and_go(void **state) {
    (void)state;
    watch_child(HD_WAIT_IDLE);
    look_until(waits_now());
    send_byte('t');
    look_until(seen.began == 1 && seen.ended == 1);
    assert_int_equal(seen.began_pid, child);
    assert_int_equal(seen.began_tid, shared->tid);
    assert_int_equal(seen.ended_tid, shared->tid);
    send_byte('f');
    look_until(seen.began == 2 && seen.execs == 1);
    assert_int_equal(seen.began_pid, seen.began_tid);
    assert_int_not_equal(seen.began_pid, child);
    send_byte('x');
    look_until(seen.ended_tid == child);
    assert_int_equal(way->watch(hook, child, child), -ESRCH);
}

/* The slots are more than the threads; each thread gives its own back. */
static void slots_are_used_again(void **state) {
    (void)state;
    watch_child(HD_WAIT_IDLE);
    for (unsigned i = 0; i < hook->slots.count + 10; i++) {
        assert_int_equal(way->watch(hook, getpid(), getpid()), 0);
        way->unwatch(hook, getpid());
    }
    look_until(waits_now());
}

static int open_hook(void **state) {
    static const struct hd_hook_events events = {.sight = on_sight,
                                                 .turn = on_turn,
                                                 .thread_began = on_thread_began,
                                                 .thread_ended = on_thread_ended,
                                                 .exec = on_exec};
    const char *name = getenv("HANGDOG_HOOK");
    (void)state;
    hd_os_clock_init();
    for (const struct hd_hook_way *const *w = hd_hook_ways; *w != NULL; w++) {
        if (strcmp((*w)->name, name != NULL ? name : "switches") == 0) {
            way = *w;
        }
    }
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    uint64_t start = hd_os_now_ns();
    int rc = way != NULL ? way->open(&hook, &events, LONG_NS) : -ENOTSUP;
    if (rc == -EPERM || rc == -EACCES || rc == -ENOTSUP) {
        print_message("the hook cannot be opened (%s): run as root, with libbpf-dev, clang and bpftool\n",
                      strerror(-rc));
        exit(77);
    }
    print_message("open: %llu ms\n", (unsigned long long)((hd_os_now_ns() - start) / HD_NS_PER_MS));
    return rc != 0 || shared == MAP_FAILED;
}

static int close_hook(void **state) {
    (void)state;
    uint64_t start = hd_os_now_ns();
    way->close(hook);
    print_message("close: %llu ms\n", (unsigned long long)((hd_os_now_ns() - start) / HD_NS_PER_MS));
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_first_sight_has_registers_and_stack, end),
        cmocka_unit_test_teardown(a_new_kind_leaves_the_wait_from_before_the_watch, end),
        cmocka_unit_test_teardown(long_turns_are_exact, end),
        cmocka_unit_test_teardown(a_turn_is_seen_while_it_lasts, end),
        cmocka_unit_test_teardown(a_long_turn_is_found_among_all_threads, end),
        cmocka_unit_test_teardown(a_turn_after_a_wait_that_did_not_block_has_an_uncertain_start, end),
        cmocka_unit_test_teardown(a_busy_loop_before_its_first_sight_is_in_no_long_turn, end),
        cmocka_unit_test_teardown(each_wait_call_is_seen, end),
        cmocka_unit_test_teardown(threads_and_processes_come_and_go, end),
        cmocka_unit_test_teardown(slots_are_used_again, end),
    };
    return cmocka_run_group_tests_name("a hook by BPF", tests, open_hook, close_hook);
}
