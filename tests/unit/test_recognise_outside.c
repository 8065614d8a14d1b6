/* SPDX-License-Identifier: MIT
 *
 * The recogniser of waits of other processes: sights of a real child go in, and a hook of the test gets the
 * verdicts. The child runs a loop, and a callback of the loop blocks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#define print_error cmocka_print_error /* the command has one, too */
#include <cmocka.h>
#undef print_error

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "child.h"
#include "cli/outside/recognise.h"
#include "cli/outside/recognise_listens.h"
#include "cli/outside/recognise_parked.h"
#include "os/os.h"

#define UNTIL_NS (10 * HD_NS_PER_S)
#define POOL_EPOLL 99

/* ---- the child ---------------------------------------------------------------------------------- */

static int pipes[2][2]; /* from this process to the child */
static int *const event = pipes[0], *const reply = pipes[1];

__attribute__((noinline)) static void block_for_a_reply(void) {
    struct pollfd one = {.fd = reply[0], .events = POLLIN};
    char byte;
    if (poll(&one, 1, -1) == 1 && read(reply[0], &byte, 1) != 1) {
        _exit(1);
    }
}

__attribute__((noinline)) static void run_loop(int epoll) {
    struct epoll_event found;
    char byte;
    for (;;) {
        if (epoll_wait(epoll, &found, 1, -1) == 1 && read(event[0], &byte, 1) == 1) {
            block_for_a_reply();
        }
    }
}

static void child_with_a_loop(void) {
    int epoll = epoll_create1(EPOLL_CLOEXEC), timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    struct epoll_event in = {.events = EPOLLIN};
    epoll_ctl(epoll, EPOLL_CTL_ADD, event[0], &in);
    epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &in);
    run_loop(epoll);
}

/* A server by poll: one socket that listens, and the pipe. */
static void child_with_a_listener(void) {
    struct sockaddr_in any = {.sin_family = AF_INET};
    int server = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(server, (struct sockaddr *)&any, sizeof any) != 0 || listen(server, 1) != 0) {
        _exit(1);
    }
    for (;;) {
        struct pollfd two[] = {{.fd = server, .events = POLLIN}, {.fd = event[0], .events = POLLIN}};
        char byte;
        if (poll(two, 2, -1) == 1 && read(event[0], &byte, 1) == 1) {
            block_for_a_reply();
        }
    }
}

static void *wait_for_events(void *epoll) {
    run_loop(*(int *)epoll);
    return NULL;
}

/* One thread of a pool waits for the instance, and a lock blocks the other. */
static void child_with_a_pool(void) {
    static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
    int epoll = epoll_create1(EPOLL_CLOEXEC), known = POOL_EPOLL;
    pthread_t serves;
    if (dup2(epoll, POOL_EPOLL) != POOL_EPOLL ||
        pthread_create(&serves, NULL, wait_for_events, &known) != 0) {
        _exit(1);
    }
    pthread_mutex_lock(&turn);
    pthread_mutex_lock(&turn);
}

static void child_without_a_loop(void) {
    for (;;) {
        block_for_a_reply();
    }
}

static void send_byte(int to) {
    assert_int_equal(write(to, "x", 1), 1);
}

/* ---- the hook of the test ----------------------------------------------------------------------- */

static struct hd_hook {
    enum hd_wait_verdict verdict[HD_HOOK_KINDS];
    struct hd_wait_times times[HD_HOOK_KINDS];
} hook;
static uint64_t order;

static void judge(struct hd_hook *h, pid_t tid, uint32_t kind, enum hd_wait_verdict verdict) {
    (void)tid;
    h->verdict[kind] = verdict;
}

static void times(struct hd_hook *h, pid_t tid, uint32_t kind, struct hd_wait_times *out) {
    (void)tid;
    *out = h->times[kind];
}

static const struct hd_hook_way way = {.name = "test", .judge = judge, .times = times};

static void ended(uint32_t kind) {
    struct hd_wait_times *t = &hook.times[kind];
    t->waits++;
    t->waited_ns += HD_NS_PER_MS;
    t->order = ++order;
    t->ended_ns = hd_os_now_ns();
}

/* ---- a child that is watched -------------------------------------------------------------------- */

static struct live_process process;
static struct outside_recogniser *recogniser;
static struct outside_source source;

static int start(void **state) {
    (void)state;
    hd_os_clock_init();
    memset(&hook, 0, sizeof hook);
    order = 0;
    return 0;
}

static void watch(pid_t pid, const char *option) {
    static const struct live_command command = {"attach", "attach"};
    struct problem why;
    assert_int_equal(live_process_open(pid, &command, &process, &why), 0);
    recogniser = outside_recogniser_create(option);
    source = (struct outside_source){
        .stacks = outside_stacks_create(), .process = &process, .tid = pid, .way = &way, .hook = &hook};
    assert_true(recogniser != NULL && source.stacks != NULL);
}

static void leave(pid_t pid) {
    child_end(pid, pipes, 2);
    outside_recogniser_destroy(recogniser);
    outside_stacks_destroy(source.stacks);
    live_process_close(&process);
}

/* Once the child is in a call with so many descriptors (0: an epoll instance), a sight without a stack. */
static struct hd_hook_sight sight_of(uint32_t kind, uint8_t fds) {
    struct outside_wait w;
    struct hd_wait_descriptors d;
    uint64_t until_ns = hd_os_now_ns() + UNTIL_NS;
    while (!outside_wait_now(&process, source.tid, &w) || !outside_wait_descriptors(&w, 0, &d) ||
           (fds == 0 ? !d.epoll : d.epoll || d.fds != fds)) {
        assert_true(hd_os_now_ns() < until_ns);
        hd_os_nap(HD_NS_PER_MS);
    }
    struct hd_hook_sight s = {
        .kind = kind, .nr = w.nr, .blocks = true, .regs = w.regs, .at_ns = hd_os_now_ns()};
    memcpy(s.args, w.args, sizeof s.args);
    return s;
}

static void see(uint32_t kind, uint8_t fds) {
    struct hd_hook_sight s = sight_of(kind, fds);
    outside_sight(recogniser, &source, &s);
}

static void sum(bool waits) {
    struct hd_hook_thread state = {.known = true, .waits = waits, .turns = order};
    outside_sums(recogniser, &source, &state, hd_os_now_ns());
}

static struct outside_loop loop_now(void) {
    struct outside_loop l;
    outside_loop_read(recogniser, &l);
    return l;
}

/* ---- verdicts ----------------------------------------------------------------------------------- */

static void check_a_loop(pid_t pid, uint8_t fds) {
    see(0, fds);
    assert_int_equal(hook.verdict[0], HD_WAIT_IDLE);
    assert_true(loop_now().has_evidence && !loop_now().certain && loop_now().caller_pc != 0);
    assert_int_equal(loop_now().certainty, HD_RECORD_LOOP_LIKELY);

    ended(0);
    send_byte(event[1]);
    see(1, 1);
    assert_int_equal(hook.verdict[1], HD_WAIT_BUSY);

    ended(1);
    send_byte(reply[1]);
    (void)sight_of(0, fds);
    sum(true);
    assert_true(loop_now().certain && loop_now().changes == 1 && !loop_now().left);
    assert_int_equal(loop_now().certainty, HD_RECORD_LOOP_CERTAIN);
    leave(pid);
}

static void an_epoll_loop_is_known_at_its_first_wait_and_certain_when_it_returns(void **state) {
    (void)state;
    pid_t pid = child_start(child_with_a_loop, pipes, 2);
    watch(pid, "");
    check_a_loop(pid, 0);
}

static void a_poll_loop_is_known_by_its_socket_that_listens(void **state) {
    (void)state;
    pid_t pid = child_start(child_with_a_listener, pipes, 2);
    watch(pid, "");
    check_a_loop(pid, 2);
}

static void a_child_that_only_reads_a_pipe_has_no_loop(void **state) {
    (void)state;
    pid_t pid = child_start(child_without_a_loop, pipes, 2);
    watch(pid, "");
    see(0, 1);
    for (unsigned i = 0; i < 4; i++) {
        ended(0);
        send_byte(reply[1]);
        (void)sight_of(0, 1);
        sum(false);
        assert_int_equal(hook.verdict[0], HD_WAIT_UNKNOWN);
    }
    assert_int_equal(loop_now().certainty, HD_RECORD_NO_LOOP);
    leave(pid);
}

static void the_option_decides_in_place_of_the_rule(void **state) {
    (void)state;
    pid_t pid = child_start(child_without_a_loop, pipes, 2);
    watch(pid, "unit-recognise_outside:block_for_a_reply");
    see(0, 1);
    assert_int_equal(hook.verdict[0], HD_WAIT_IDLE);
    assert_true(loop_now().certain);
    leave(pid);
}

/* A hook without stacks may report a wait that is over by the time we read it. */
static void a_wait_that_was_over_is_read_when_the_thread_waits_again(void **state) {
    (void)state;
    pid_t pid = child_start(child_with_a_loop, pipes, 2);
    watch(pid, "");
    struct hd_hook_sight loop = sight_of(0, 0);
    send_byte(event[1]);
    (void)sight_of(0, 1);
    outside_sight(recogniser, &source, &loop);
    assert_int_equal(hook.verdict[0], HD_WAIT_UNKNOWN);
    assert_true(outside_sums_due(recogniser, &(struct hd_hook_thread){.known = true}, hd_os_now_ns()));
    sum(false);
    assert_int_equal(hook.verdict[0], HD_WAIT_UNKNOWN);
    send_byte(reply[1]);
    (void)sight_of(0, 0);
    sum(false);
    assert_int_equal(hook.verdict[0], HD_WAIT_IDLE);
    leave(pid);
}

/* The program has had its share of the watcher's time. */
static void a_sight_is_read_later_when_the_thread_waits_again(void **state) {
    (void)state;
    pid_t pid = child_start(child_with_a_loop, pipes, 2);
    watch(pid, "");
    struct hd_hook_sight loop = sight_of(0, 0);
    outside_sight_later(recogniser, &source, &loop);
    assert_int_equal(hook.verdict[0], HD_WAIT_UNKNOWN);
    assert_true(outside_sums_due(recogniser, &(struct hd_hook_thread){.known = true}, hd_os_now_ns()));
    sum(false);
    assert_int_equal(hook.verdict[0], HD_WAIT_IDLE);
    leave(pid);
}

/* One call waits for two instances in turn, and the thread is in the wait for the second. */
static void a_sight_is_not_read_in_a_wait_for_another_instance(void **state) {
    (void)state;
    pid_t pid = child_start(child_with_a_loop, pipes, 2);
    watch(pid, "");
    struct hd_hook_sight second = sight_of(1, 0), first = second;
    first.kind = 0;
    first.args[0]++;
    outside_sight_later(recogniser, &source, &first);
    sum(false);
    assert_int_equal(hook.verdict[0], HD_WAIT_UNKNOWN);
    outside_sight_later(recogniser, &source, &second);
    sum(false);
    assert_int_equal(hook.verdict[0], HD_WAIT_UNKNOWN);
    assert_int_equal(hook.verdict[1], HD_WAIT_IDLE);
    leave(pid);
}

static void a_thread_of_a_pool_is_parked_while_another_serves_the_loop(void **state) {
    (void)state;
    pid_t pid = child_start(child_with_a_pool, pipes, 2);
    struct outside_parked k = {.turn_ns = 0}, other = k;
    const struct hd_hook_thread turn = {.known = true, .since_ns = hd_os_now_ns()};
    struct hd_hook_thread seen = turn;
    uint64_t until_ns = hd_os_now_ns() + UNTIL_NS, at_ns = turn.since_ns + HD_NS_PER_S / 2;
    watch(pid, "");
    while (!seen.waits) {
        assert_true(hd_os_now_ns() < until_ns);
        hd_os_nap(HD_NS_PER_MS);
        outside_parked_look(&k, &process, pid, POOL_EPOLL, at_ns, &seen);
    }
    assert_int_equal(seen.since_ns, turn.since_ns);
    seen = turn;
    outside_parked_look(&other, &process, pid, POOL_EPOLL + 1, at_ns, &seen);
    assert_false(seen.waits);
    k.sp++; /* as if it had been parked elsewhere: by now it may be in a callback, without a server */
    seen = turn;
    outside_parked_look(&k, &process, pid, POOL_EPOLL + 1, at_ns + HD_NS_PER_S, &seen);
    assert_false(seen.waits);
    assert_int_equal(seen.since_ns, at_ns + HD_NS_PER_S);
    assert_int_equal(seen.earlier_ns, HD_NS_PER_S);
    leave(pid);
}

static void hostile_arguments_are_no_wait(void **state) {
    (void)state;
    pid_t pid = child_start(child_with_a_loop, pipes, 2);
    watch(pid, "");
    struct hd_hook_sight s = sight_of(0, 0);
    s.kind = HD_HOOK_KINDS;
    outside_sight(recogniser, &source, &s);
    s.kind = HD_HOOK_KINDS - 1;
    s.args[0] = s.args[1] = s.args[2] = UINT64_MAX;
    outside_sight(recogniser, &source, &s);
    const uint8_t junk[64] = {0xff};
    s.stack = junk;
    s.stack_addr = UINT64_MAX - 16;
    s.stack_bytes = sizeof junk;
    outside_sight(recogniser, &source, &s);
    sum(true);
    leave(pid);
}

static void the_kernels_tables_show_sockets_that_listen(void **state) {
    (void)state;
    uint64_t inode;
    const char *head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid";
    assert_int_equal(outside_listens_parse(head, false, &inode), LISTENS_NOT);
    assert_int_equal(outside_listens_parse("   0: 00000000:07E8 00000000:0000 0A 00000000:00000000 "
                                           "00:00000000 00000000     0        0 42 1 0 100 0 0 10 0",
                                           false, &inode),
                     LISTENS);
    assert_int_equal(inode, 42);
    assert_int_equal(outside_listens_parse("   1: 0100007F:07E8 0100007F:A000 01 00000000:00000000 "
                                           "00:00000000 00000000     0        0 43 1 0 100 0 0 10 0",
                                           false, &inode),
                     LISTENS_END);
    assert_int_equal(
        outside_listens_parse("00000000: 00000002 00000000 00010000 0001 01  3911 /run/a", true, &inode),
        LISTENS);
    assert_int_equal(inode, 3911);
    assert_int_equal(
        outside_listens_parse("00000000: 00000003 00000000 00000000 0001 03  3912", true, &inode),
        LISTENS_NOT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(an_epoll_loop_is_known_at_its_first_wait_and_certain_when_it_returns, start),
        cmocka_unit_test_setup(a_poll_loop_is_known_by_its_socket_that_listens, start),
        cmocka_unit_test_setup(a_child_that_only_reads_a_pipe_has_no_loop, start),
        cmocka_unit_test_setup(the_option_decides_in_place_of_the_rule, start),
        cmocka_unit_test_setup(a_wait_that_was_over_is_read_when_the_thread_waits_again, start),
        cmocka_unit_test_setup(a_sight_is_read_later_when_the_thread_waits_again, start),
        cmocka_unit_test_setup(a_sight_is_not_read_in_a_wait_for_another_instance, start),
        cmocka_unit_test_setup(a_thread_of_a_pool_is_parked_while_another_serves_the_loop, start),
        cmocka_unit_test_setup(hostile_arguments_are_no_wait, start),
        cmocka_unit_test(the_kernels_tables_show_sockets_that_listen),
    };
    return cmocka_run_group_tests_name("from outside", tests, NULL, NULL);
}
