/* SPDX-License-Identifier: MIT
 *
 * The ways that look at a thread of another process: which of its turns each way sees. The child writes the
 * truth into shared memory. All runs as root, if this process is root, and as an ordinary user.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"
#include "os/os.h"
#include "outside/hook.h"

#define MS HD_NS_PER_MS
#define TURN_NS (700 * MS)
#define LOOK_NS (20 * MS)
#define UNTIL_NS (20 * HD_NS_PER_S)
#define USER 65534

/* ---- the child ---------------------------------------------------------------------------------------- */

enum work {
    RUN = 'r',    /* one turn on the CPU */
    SLEEP = 's',  /* one turn in nanosleep */
    NESTED = 'n', /* one turn with many short waits in the same function, one frame deeper */
    OFTEN = 'o',  /* many short turns, each with an event that is ready */
};

static struct truth {
    volatile uint64_t start_ns, end_ns, longest_ns;
    volatile uint64_t turns;
} *truth;
static int command[2];

static void run_for(uint64_t ns) {
    uint64_t until_ns = hd_os_now_ns() + ns;
    while (hd_os_now_ns() < until_ns) {
    }
}

__attribute__((noinline)) static int wait_once(int epoll, int timeout_ms) {
    struct epoll_event found;
    return epoll_wait(epoll, &found, 1, timeout_ms);
}

__attribute__((noinline)) static void wait_nested(void) {
    int other = epoll_create1(EPOLL_CLOEXEC);
    for (uint64_t until_ns = hd_os_now_ns() + TURN_NS; hd_os_now_ns() < until_ns;) {
        run_for(10 * MS);
        wait_once(other, 0);
    }
    close(other);
}

static void take_turn(char what) {
    switch (what) {
    case RUN:
        run_for(TURN_NS);
        break;
    case SLEEP:
        hd_os_nap(TURN_NS);
        break;
    case NESTED:
        wait_nested();
        break;
    default:
        break;
    }
}

static void run_loop(void) {
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event in = {.events = EPOLLIN};
    uint64_t often_until_ns = 0;
    char what;
    epoll_ctl(epoll, EPOLL_CTL_ADD, command[0], &in);
    for (;;) {
        bool often = hd_os_now_ns() < often_until_ns;
        bool event = wait_once(epoll, often ? 0 : -1) == 1;
        uint64_t start_ns = hd_os_now_ns();
        what = '\0';
        if (event && read(command[0], &what, 1) == 1) {
            often_until_ns = what == OFTEN ? start_ns + 2 * TURN_NS : 0;
            take_turn(what);
        } else if (often) {
            run_for(2 * MS);
        }
        uint64_t end_ns = hd_os_now_ns();
        truth->longest_ns = end_ns - start_ns > truth->longest_ns ? end_ns - start_ns : truth->longest_ns;
        truth->start_ns = start_ns;
        truth->end_ns = end_ns;
        truth->turns += often || what == OFTEN ? hd_os_now_ns() >= often_until_ns : 1;
    }
}

static pid_t start_child(void) {
    truth = mmap(NULL, sizeof *truth, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(truth, MAP_FAILED);
    return child_start(run_loop, &command, 1);
}

/* ---- the watcher -------------------------------------------------------------------------------------- */

static struct seen {
    const struct hd_hook_way *way;
    struct hd_hook *hook;
    pid_t child;
    unsigned sights, ended;
    uint64_t oldest_ns; /* the greatest age of a turn at a look */
    struct hd_hook_thread oldest;
    struct hd_hook_turn turn; /* the longest that has ended */
} seen;

static void on_sight(void *arg, pid_t tid, const struct hd_hook_sight *s) {
    struct seen *w = arg;
    assert_int_equal(tid, w->child);
    w->way->judge(w->hook, tid, s->kind, w->sights++ == 0 ? HD_WAIT_IDLE : HD_WAIT_BUSY);
}

static void on_turn(void *arg, pid_t tid, const struct hd_hook_turn *turn) {
    struct seen *w = arg;
    assert_int_equal(tid, w->child);
    if (turn->end_ns - turn->start_ns > w->turn.end_ns - w->turn.start_ns) {
        w->turn = *turn;
    }
}

static void on_ended(void *arg, pid_t tid, uint64_t at_ns) {
    (void)tid, (void)at_ns;
    ((struct seen *)arg)->ended++;
}

static void on_long_turn(void *found, pid_t tid) {
    *(bool *)found |= tid == seen.child;
}

static void look(void) {
    struct hd_hook_thread state;
    seen.way->step(seen.hook, hd_os_now_ns());
    seen.way->read(seen.hook, seen.child, &state);
    uint64_t now_ns = hd_os_now_ns();
    bool in_turn = state.known && !state.waits, found = false;
    seen.way->long_turns(seen.hook, now_ns - 100 * MS, on_long_turn, &found);
    assert_int_equal(found, in_turn && state.since_ns - state.earlier_ns <= now_ns - 100 * MS);
    if (in_turn && now_ns - state.since_ns > seen.oldest_ns) {
        seen.oldest_ns = now_ns - state.since_ns;
        seen.oldest = state;
    }
    hd_os_nap(LOOK_NS);
}

static bool is_known(void) {
    struct hd_hook_thread state;
    seen.way->read(seen.hook, seen.child, &state);
    return state.known && state.waits;
}

/* Watches a child while it works. False: the way cannot be opened here. */
static bool watch(const char *name, char work) {
    struct hd_hook_events events = {
        .arg = &seen, .sight = on_sight, .turn = on_turn, .thread_ended = on_ended};
    const struct hd_hook_way *const *way = hd_hook_ways;
    while (*way != NULL && strcmp((*way)->name, name) != 0) {
        way++;
    }
    if (*way == NULL) {
        fail_msg("there is no way %s", name);
        return false;
    }
    seen = (struct seen){.way = *way};
    int rc = (*way)->open(&seen.hook, &events, 100 * MS);
    if (rc != 0) {
        print_message("%s: %s\n", name, strerror(-rc));
        return false;
    }
    seen.child = start_child();
    assert_int_equal((*way)->watch(seen.hook, seen.child, seen.child), 0);
    uint64_t until_ns = hd_os_now_ns() + UNTIL_NS;
    while (!is_known()) {
        assert_true(hd_os_now_ns() < until_ns);
        look();
    }
    look(); /* the first that sees the thread in a wait which is known to be its loop's */
    seen.oldest_ns = 0;
    uint64_t turns = truth->turns;
    assert_int_equal(write(command[1], &work, 1), 1);
    while (truth->turns == turns) {
        assert_true(hd_os_now_ns() < until_ns);
        look();
    }
    for (unsigned i = 0; i < 3; i++) {
        look();
    }
    return true;
}

static void leave(void) {
    child_end(seen.child, &command, 1);
    look();
    assert_int_equal(seen.ended, 1);
    seen.way->unwatch(seen.hook, seen.child);
    seen.way->close(seen.hook);
    munmap(truth, sizeof *truth);
}

/* A turn that the way has seen while it lasted, and when it was over: it is the true one, no longer, and at
 * most `late_ns` shorter. */
static void expect_turn(uint64_t late_ns) {
    print_message("oldest %.1f ms, earlier by up to %.1f; ended: starts %+.1f ms, ends %+.1f ms\n",
                  (double)seen.oldest_ns / 1e6, (double)seen.oldest.earlier_ns / 1e6,
                  ((double)seen.turn.start_ns - (double)truth->start_ns) / 1e6,
                  ((double)seen.turn.end_ns - (double)truth->end_ns) / 1e6);
    assert_true(seen.oldest_ns + late_ns >= TURN_NS);
    assert_true(seen.turn.start_ns + 150 * MS >= truth->start_ns);
    assert_true(seen.turn.start_ns <= truth->start_ns + late_ns);
    assert_true(seen.turn.start_ns <= truth->start_ns + MS + seen.turn.earlier_ns);
    assert_true(seen.turn.end_ns + late_ns >= truth->end_ns);
}

static void expect_no_turn(void) {
    print_message("oldest %.1f ms; the longest true turn was %.1f ms\n", (double)seen.oldest_ns / 1e6,
                  (double)truth->longest_ns / 1e6);
    assert_true(seen.oldest_ns <= truth->longest_ns + 2 * LOOK_NS + 100 * MS);
}

/* ---- tests -------------------------------------------------------------------------------------------- */

static void looks_see_a_blocked_turn(void **state) {
    (void)state;
    assert_true(watch("looks", SLEEP));
    expect_turn(300 * MS);
    leave();
}

static void looks_take_a_running_turn_for_busy(void **state) {
    (void)state;
    assert_true(watch("looks", RUN));
    assert_true(seen.oldest_ns < 300 * MS);
    assert_int_equal(seen.turn.end_ns, 0);
    leave();
}

static void a_counter_sees_turns(void **state) {
    (void)state;
    static const char works[] = {RUN, SLEEP, NESTED};
    for (unsigned i = 0; i < sizeof works; i++) {
        if (!watch("counter", works[i])) {
            skip();
        }
        expect_turn(500 * MS);
        leave();
    }
}

/* On a busy machine the thread may lose its CPU between its wake and its own clock. */
static void records_know_the_start_and_the_end(void **state) {
    (void)state;
    static const char works[] = {RUN, SLEEP, NESTED};
    for (unsigned i = 0; i < sizeof works; i++) {
        if (!watch("records", works[i])) {
            skip();
        }
        expect_turn(500 * MS);
        assert_int_equal(seen.turn.earlier_ns, 0);
        assert_true(seen.turn.start_ns <= truth->start_ns + 10 * MS);
        assert_true(seen.turn.end_ns <= truth->end_ns + 150 * MS);
        leave();
    }
}

static void a_busy_loop_is_no_long_turn(void **state) {
    (void)state;
    static const char ways[][8] = {"looks", "counter", "records"};
    for (unsigned i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        if (watch(ways[i], OFTEN)) {
            expect_no_turn();
            leave();
        }
    }
}

static int run_all(const char *user) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(looks_see_a_blocked_turn),    cmocka_unit_test(looks_take_a_running_turn_for_busy),
        cmocka_unit_test(a_counter_sees_turns),        cmocka_unit_test(records_know_the_start_and_the_end),
        cmocka_unit_test(a_busy_loop_is_no_long_turn),
    };
    return cmocka_run_group_tests_name(user, tests, NULL, NULL);
}

int main(void) {
    int status = 0;
    hd_os_clock_init();
    if (geteuid() != 0) {
        return run_all("as an ordinary user");
    }
    pid_t pid = fork();
    if (pid == 0) {
        if (setgroups(0, NULL) != 0 || setgid(USER) != 0 || setuid(USER) != 0 ||
            prctl(PR_SET_DUMPABLE, 1) != 0) {
            _exit(1);
        }
        _exit(run_all("as an ordinary user"));
    }
    bool user = pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
    return run_all("as root") != 0 || !user;
}
