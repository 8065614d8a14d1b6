/* SPDX-License-Identifier: MIT
 *
 * The main thread of a child, whose loop is not known yet. The hook is the test's own: it sees no mark until
 * a wait is judged to be the loop's, as if the watcher had no CPU.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define print_error cmocka_print_error /* cli/base/error.h has another one */
#include <cmocka.h>
#undef print_error

#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "child.h"
#include "cli/outside/followed.h"
#include "cli/outside/loops.h"
#include "cli/outside/recognise_stacks.h"
#include "cli/outside/recognise_wait.h"
#include "cli/outside/reporting.h"
#include "cli/outside/threads.h"
#include "folder.h"
#include "os/os.h"
#include "turn/turn.h"

#define THRESHOLD_NS (200 * HD_NS_PER_MS)
#define UNTIL_NS (10 * HD_NS_PER_S)

/* ---- the child ---------------------------------------------------------------------------------- */

static int pipes[2][2]; /* from this process to the child */
static int *const event = pipes[0], *const reply = pipes[1];

/* A loop, and a callback that blocks in a call that is no wait of a loop. */
static void child_with_a_loop(void) {
    int epoll = epoll_create1(EPOLL_CLOEXEC), timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    struct epoll_event in = {.events = EPOLLIN};
    epoll_ctl(epoll, EPOLL_CTL_ADD, event[0], &in);
    epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &in);
    for (char byte;;) {
        if (epoll_wait(epoll, &in, 1, -1) == 1 && read(event[0], &byte, 1) == 1 &&
            read(reply[0], &byte, 1) != 1) {
            _exit(1);
        }
    }
}

/* ---- the hook of the test ----------------------------------------------------------------------- */

static struct hd_hook {
    uint64_t begun_ns;
    enum hd_wait_verdict verdict;
    bool suspects;
    uint64_t busy_ns;
} hook;

static int watch(struct hd_hook *h, pid_t pid, pid_t tid) {
    (void)pid, (void)tid;
    h->begun_ns = hd_os_now_ns();
    return 0;
}

static void unwatch(struct hd_hook *h, pid_t tid) {
    (void)h, (void)tid;
}

static void judge(struct hd_hook *h, pid_t tid, uint32_t kind, enum hd_wait_verdict verdict) {
    (void)tid, (void)kind;
    h->verdict = verdict;
}

static void read_state(struct hd_hook *h, pid_t tid, struct hd_hook_thread *out) {
    (void)tid;
    bool waits = h->verdict == HD_WAIT_IDLE;
    *out = (struct hd_hook_thread){.known = waits,
                                   .waits = waits,
                                   .busy_ns = h->busy_ns,
                                   .since_ns = waits ? hd_os_now_ns() : h->begun_ns};
}

static uint32_t free_places(const struct hd_hook *h) {
    (void)h;
    return 100;
}

static void times(struct hd_hook *h, pid_t tid, uint32_t kind, struct hd_wait_times *out) {
    (void)h, (void)tid, (void)kind;
    *out = (struct hd_wait_times){.waits = 0};
}

static void suspect(struct hd_hook *h, pid_t tid, bool on) {
    (void)tid;
    h->suspects = on;
}

static const struct hd_hook_way way = {.name = "test",
                                       .watch = watch,
                                       .unwatch = unwatch,
                                       .judge = judge,
                                       .read = read_state,
                                       .free_places = free_places,
                                       .times = times,
                                       .suspect = suspect};

/* ---- the watcher -------------------------------------------------------------------------------- */

static struct watcher watcher;
static struct outside_process process;
static struct hd_record record;
static unsigned opened, ended, withdrawn;
static uint64_t duration_ns;

static void on_open(void *arg, const struct watched_process *p, const struct watched_hang *h) {
    (void)arg, (void)p, (void)h;
    opened++;
}

static void on_end(void *arg, const struct watched_process *p, const struct watched_hang *h) {
    (void)arg, (void)p;
    ended++;
    duration_ns = h->duration_ns;
}

static void on_withdrawn(void *arg, const struct watched_process *p, const struct watched_hang *h) {
    (void)arg, (void)p, (void)h;
    withdrawn++;
}

static int set_up(void **state) {
    static const struct live_command command = {"attach", "attach"};
    struct problem why;
    (void)state;
    hd_os_clock_init();
    opened = ended = withdrawn = 0;
    hook = (struct hd_hook){.begun_ns = 0};
    watcher = (struct watcher){
        .way = &way,
        .hook = &hook,
        .stacks = outside_stacks_create(),
        .stack = malloc(HD_STACK_BYTES_MAX),
        .options.events = {.hang_open = on_open, .hang_end = on_end, .hang_withdrawn = on_withdrawn}};
    record = (struct hd_record){.magic = HD_RECORD_MAGIC, .bytes = sizeof record};
    record.options.threshold_ns = THRESHOLD_NS;
    record.options.interval_ns = THRESHOLD_NS / 10;
    record.options.reports_per_day = record.options.reports_per_fingerprint = UINT32_MAX;
    snprintf(record.options.spool, sizeof record.options.spool, "/tmp/hangdog-followed-XXXXXX");
    assert_non_null(mkdtemp(record.options.spool));
    process = (struct outside_process){.watcher = &watcher, .shown.record = &record};
    pid_t pid = child_start(child_with_a_loop, pipes, 2);
    assert_int_equal(live_process_open(pid, &command, &process.live, &why), 0);
    assert_int_equal(outside_thread_add(&process, pid), 0);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    outside_thread_remove(process.threads);
    outside_users_free(&watcher.users); /* who owes time stays */
    reporting_forget(&process);
    child_end(process.live.pid, pipes, 2);
    live_process_close(&process.live);
    outside_stacks_destroy(watcher.stacks);
    free(watcher.stack);
    return folder_remove(record.options.spool);
}

static void send_byte(int to) {
    assert_int_equal(write(to, "x", 1), 1);
}

/* Once the child is blocked in its loop's wait, or not: the call. */
static struct outside_wait wait_until_it(bool waits) {
    struct outside_wait w;
    uint64_t until_ns = hd_os_now_ns() + UNTIL_NS;
    while (!outside_wait_now(&process.live, process.live.pid, &w) || outside_wait_is_epoll(w.nr) != waits) {
        assert_true(hd_os_now_ns() < until_ns);
        hd_os_nap(HD_NS_PER_MS);
    }
    return w;
}

static void see(const struct outside_wait *w, uint64_t at_ns) {
    struct hd_hook_sight s = {.nr = w->nr, .blocks = true, .regs = w->regs, .at_ns = at_ns};
    memcpy(s.args, w->args, sizeof s.args);
    loops_sight(process.threads, &s);
}

/* The looks of so long a time, each as the watcher's. */
static void look_for(uint64_t ns) {
    uint64_t until_ns = hd_os_now_ns() + ns;
    do {
        loops_look(process.threads, hd_os_now_ns());
        (void)followed_look(process.threads, hd_os_now_ns());
        hd_os_nap(THRESHOLD_NS / 10);
    } while (hd_os_now_ns() < until_ns);
}

/* ---- tests -------------------------------------------------------------------------------------- */

static void a_wait_that_is_not_read_yet_is_no_hang(void **state) {
    (void)state;
    struct outside_wait w = wait_until_it(true);
    send_byte(event[1]);
    (void)wait_until_it(false);
    see(&w, hook.begun_ns);
    look_for(3 * THRESHOLD_NS);
    assert_int_equal(hook.verdict, HD_WAIT_UNKNOWN);
    assert_int_equal(opened, 0);
    send_byte(reply[1]);
    (void)wait_until_it(true);
    look_for(THRESHOLD_NS);
    assert_int_equal(hook.verdict, HD_WAIT_IDLE);
    assert_int_equal(opened, 0);
    assert_int_equal(ended, 0);
}

static void a_loop_that_is_found_late_has_waited_since_its_first_wait(void **state) {
    (void)state;
    struct outside_wait w = wait_until_it(true);
    look_for(3 * THRESHOLD_NS);
    assert_int_equal(opened, 1);
    see(&w, hook.begun_ns);
    look_for(THRESHOLD_NS);
    assert_int_equal(hook.verdict, HD_WAIT_IDLE);
    assert_int_equal(ended, 0);
    assert_int_equal(withdrawn, 1);
    assert_int_equal(atomic_load(&record.hangs.count), 0);
}

static void a_hang_since_the_begin_of_the_watch_lasts_until_the_first_wait(void **state) {
    (void)state;
    struct outside_wait w = wait_until_it(true);
    look_for(2 * THRESHOLD_NS);
    uint64_t first_ns = hd_os_now_ns();
    look_for(THRESHOLD_NS);
    see(&w, first_ns);
    assert_int_equal(hook.verdict, HD_WAIT_IDLE);
    assert_int_equal(ended, 1);
    assert_int_equal(duration_ns, first_ns - hook.begun_ns);
    assert_int_equal(withdrawn, 0);
}

/* A message about a turn of another thread, which the test makes up. True: the worker has the turn. */
static bool send_other(struct outside_thread *t, enum hd_message_type type) {
    struct reporting_message m;
    t->process = &process;
    t->tid = process.live.pid;
    assert_non_null(reporting_watch(t));
    reporting_begin(t, &m);
    m.head.type = (uint8_t)type;
    m.head.at_ns = hd_os_now_ns();
    return reporting_send(&process, &m);
}

static void a_hang_that_the_worker_had_no_place_for_has_a_report_later(void **state) {
    struct outside_thread others[HD_TURNS_MAX] = {0};
    (void)state;
    assert_int_equal(reporting_open(&process), 0);
    for (unsigned i = 0; i < HD_TURNS_MAX; i++) {
        assert_true(send_other(&others[i], HD_MSG_TRACK));
    }
    look_for(2 * THRESHOLD_NS);
    assert_int_equal(opened, 0);
    assert_false(send_other(&others[0], HD_MSG_FORGET));
    look_for(THRESHOLD_NS);
    assert_int_equal(opened, 1);
}

static void a_thread_that_stays_blocked_is_not_suspect_for_ever(void **state) {
    (void)state;
    (void)wait_until_it(true);
    process.threads->has_evidence = true;
    look_for(2 * THRESHOLD_NS);
    assert_true(hook.suspects);
    look_for(2 * HD_NS_PER_S);
    assert_false(hook.suspects);
    send_byte(event[1]);
    (void)wait_until_it(false);
    look_for(THRESHOLD_NS);
    assert_true(hook.suspects);
}

static void a_thread_that_ends_gives_its_slot_back(void **state) {
    (void)state;
    assert_int_equal(reporting_open(&process), 0);
    for (unsigned i = 0; i < 2 * HD_LOOPS_MAX; i++) {
        struct outside_thread other = {.process = &process, .tid = process.live.pid};
        assert_non_null(reporting_watch(&other));
        reporting_leave(&other);
    }
}

static unsigned long mapped_pages(void) {
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lu", &pages), 1);
    fclose(file);
    return pages;
}

static void a_worker_of_many_loops_leaves_no_memory(void **state) {
    struct outside_thread others[3 * HD_BLOCK_LOOPS];
    unsigned long before = 0;
    (void)state;
    for (unsigned run = 0; run < 50; run++) {
        assert_int_equal(reporting_open(&process), 0);
        for (unsigned i = 0; i < sizeof others / sizeof others[0]; i++) {
            others[i] = (struct outside_thread){.process = &process, .tid = process.live.pid};
            assert_non_null(reporting_watch(&others[i]));
        }
        reporting_close(&process, true);
        before = run == 10 ? mapped_pages() : before;
    }
    if (!HD_SANITIZED) {                                 /* a sanitizer keeps freed memory */
        assert_in_range(mapped_pages(), 0, before + 20); /* the blocks of 40 runs have 400 */
    }
}

static void the_turns_of_a_thread_that_ended_stay_in_the_sums(void **state) {
    (void)state;
    process.threads->certainty = HD_RECORD_LOOP_CERTAIN;
    hook.busy_ns = HD_NS_PER_S;
    outside_thread_remove(process.threads);
    assert_int_equal(process.ended_turns.busy_ns, HD_NS_PER_S);
    assert_int_equal(outside_thread_add(&process, process.live.pid), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_wait_that_is_not_read_yet_is_no_hang, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_loop_that_is_found_late_has_waited_since_its_first_wait, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_hang_since_the_begin_of_the_watch_lasts_until_the_first_wait,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_hang_that_the_worker_had_no_place_for_has_a_report_later, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_thread_that_ends_gives_its_slot_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_worker_of_many_loops_leaves_no_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_turns_of_a_thread_that_ended_stay_in_the_sums, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_thread_that_stays_blocked_is_not_suspect_for_ever, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
