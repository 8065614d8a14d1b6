/* SPDX-License-Identifier: MIT
 *
 * The ways that look at a thread of another process: which of its turns each way sees. The child writes the
 * truth into shared memory. A turn lasts for a number of looks, so a busy machine only makes it longer. All
 * runs as root, if this process is root, and as an ordinary user.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <grp.h>
#include <sched.h>
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
#define ARMED_NS (100 * MS) /* after this time in a turn a look proves it */
#define LOOKS 30u
#define LOOK_NS (20 * MS)
#define UNTIL_NS (100 * HD_NS_PER_S)
#define USER 65534

/* ---- the child ---------------------------------------------------------------------------------------- */

enum work {
    RUN = 'r',    /* one turn on the CPU */
    SLEEP = 's',  /* one turn in a read */
    NESTED = 'n', /* one turn with a short wait for each look, in the same function, one frame deeper */
    OFTEN = 'o',  /* many short turns, each with an event that is ready */
};

static struct truth {
    volatile uint64_t start_ns, end_ns; /* of the newest turn with work */
    volatile uint64_t longest_ns;       /* the longest time from a wait's begin to the next wait's end */
    volatile unsigned started, ended;   /* turns with work */
    volatile unsigned looks;            /* of the watcher */
    volatile bool leave;                /* the turn is to end */
    volatile bool stolen;               /* another process has the child's CPU */
} *truth;
static int pipes[2][2], *const command = pipes[0], *const release = pipes[1];

__attribute__((noinline)) static int wait_once(int epoll, int timeout_ms) {
    struct epoll_event found;
    return epoll_wait(epoll, &found, 1, timeout_ms);
}

__attribute__((noinline)) static void wait_nested(void) {
    int other = epoll_create1(EPOLL_CLOEXEC);
    for (unsigned looks = truth->looks; !truth->leave;) {
        if (truth->looks != looks) {
            looks = truth->looks;
            wait_once(other, 0);
        }
    }
    close(other);
}

static void take_turn(char what) {
    char byte;
    switch (what) {
    case RUN:
        while (!truth->leave) {
        }
        break;
    case SLEEP:
        (void)!read(release[0], &byte, 1);
        break;
    case NESTED:
        wait_nested();
        break;
    default:
        break;
    }
}

static void run_for(uint64_t ns) {
    for (uint64_t until_ns = hd_os_now_ns() + ns; hd_os_now_ns() < until_ns;) {
    }
}

static void work(char what, uint64_t start_ns) {
    truth->start_ns = start_ns;
    truth->started++;
    take_turn(what);
    truth->end_ns = hd_os_now_ns();
    truth->ended += what != OFTEN;
}

static void run_loop(void) {
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event in = {.events = EPOLLIN};
    bool often = false;
    char what;
    epoll_ctl(epoll, EPOLL_CTL_ADD, command[0], &in);
    for (uint64_t before_ns = 0;;) {
        uint64_t begin_ns = hd_os_now_ns();
        bool event = wait_once(epoll, often ? 0 : -1) == 1;
        uint64_t start_ns = hd_os_now_ns();
        if (often && before_ns != 0 && start_ns - before_ns > truth->longest_ns) {
            truth->longest_ns = start_ns - before_ns;
        }
        before_ns = often ? begin_ns : 0;
        if (event && read(command[0], &what, 1) == 1) {
            often = what == OFTEN;
            work(what, start_ns);
        } else if (often && truth->leave) {
            truth->ended++;
            often = false;
        } else if (often) {
            run_for(2 * MS);
        }
    }
}

static pid_t start_child(void) {
    truth = mmap(NULL, sizeof *truth, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(truth, MAP_FAILED);
    return child_start(run_loop, pipes, 2);
}

/* ---- the watcher -------------------------------------------------------------------------------------- */

static struct seen {
    const struct hd_hook_way *way;
    struct hd_hook *hook;
    pid_t child;
    unsigned sights, ended;
    uint64_t sent_ns;   /* before the child got its work */
    uint64_t armed_ns;  /* the end of the first look at which the turn was old enough for a proof */
    uint64_t left_ns;   /* the begin of the last look of the turn */
    uint64_t waited_ns; /* the end of the look that saw the wait after it */
    uint64_t oldest_ns; /* the greatest age of a turn at the begin of a look */
    struct hd_hook_thread last;
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
    uint64_t begin_ns = hd_os_now_ns();
    seen.way->step(seen.hook, begin_ns);
    seen.way->read(seen.hook, seen.child, &seen.last);
    uint64_t now_ns = hd_os_now_ns();
    const struct hd_hook_thread *t = &seen.last;
    bool in_turn = t->known && !t->waits, found = false;
    seen.way->long_turns(seen.hook, now_ns - ARMED_NS, on_long_turn, &found);
    assert_int_equal(found, in_turn && t->since_ns - t->earlier_ns <= now_ns - ARMED_NS);
    if (in_turn && t->since_ns < begin_ns && begin_ns - t->since_ns > seen.oldest_ns) {
        seen.oldest_ns = begin_ns - t->since_ns;
    }
    truth->looks++;
    hd_os_nap(LOOK_NS);
}

static bool is_idle(void) {
    look();
    return seen.last.known && seen.last.waits;
}

#define look_until(condition)                                            \
    for (uint64_t until_ns = hd_os_now_ns() + UNTIL_NS; !(condition);) { \
        assert_true(hd_os_now_ns() < until_ns);                          \
    }

static bool has_started(void) {
    look();
    return truth->started != 0;
}

/* Looks at the turn while it lasts, then lets it end. */
static void see_turn(void) {
    look_until(has_started());
    for (unsigned looks = 0; looks < LOOKS || seen.armed_ns == 0; looks++) {
        seen.left_ns = hd_os_now_ns();
        look();
        if (seen.armed_ns == 0 && seen.left_ns >= truth->start_ns + ARMED_NS) {
            seen.armed_ns = hd_os_now_ns();
        }
    }
    truth->leave = true;
    assert_int_equal(write(release[1], "", 1), 1);
    look_until((look(), truth->ended != 0));
    look_until(is_idle());
    seen.waited_ns = hd_os_now_ns();
}

/* Watches a child until it is in its wait. False: the way cannot be opened here. */
static bool watch(const char *name) {
    struct hd_hook_events events = {
        .arg = &seen, .look_ns = 50 * MS, .sight = on_sight, .turn = on_turn, .thread_ended = on_ended};
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
    look_until(is_idle());
    look(); /* the first that sees the thread in a wait which is known to be its loop's */
    seen.oldest_ns = 0;
    seen.turn = (struct hd_hook_turn){0};
    return true;
}

static void send_work(char work) {
    seen.sent_ns = hd_os_now_ns();
    assert_int_equal(write(command[1], &work, 1), 1);
}

static bool watch_turn(const char *name, char work) {
    bool opened = watch(name);
    if (opened) {
        send_work(work);
        see_turn();
    }
    return opened;
}

static void leave(void) {
    child_end(seen.child, pipes, 2);
    look();
    assert_int_equal(seen.ended, 1);
    seen.way->unwatch(seen.hook, seen.child);
    seen.way->close(seen.hook);
    munmap(truth, sizeof *truth);
}

/* The way has seen one turn, from the first look that could prove it on. */
static void expect_turn(void) {
    print_message("oldest %.1f ms; starts %+.1f ms, earlier by up to %.1f; ends %+.1f ms\n",
                  (double)seen.oldest_ns / 1e6, ((double)seen.turn.start_ns - (double)truth->start_ns) / 1e6,
                  (double)seen.turn.earlier_ns / 1e6,
                  ((double)seen.turn.end_ns - (double)truth->end_ns) / 1e6);
    assert_true(seen.turn.start_ns >= seen.sent_ns && seen.turn.start_ns <= seen.armed_ns);
    assert_true(seen.turn.start_ns - seen.turn.earlier_ns <= truth->start_ns);
    assert_true(seen.turn.end_ns >= seen.left_ns && seen.turn.end_ns <= seen.waited_ns);
    assert_true(seen.oldest_ns >= seen.left_ns - seen.armed_ns);
}

/* ---- tests -------------------------------------------------------------------------------------------- */

static void looks_see_a_blocked_turn(void **state) {
    (void)state;
    assert_true(watch_turn("looks", SLEEP));
    expect_turn();
    leave();
}

static void looks_take_a_running_turn_for_busy(void **state) {
    (void)state;
    assert_true(watch_turn("looks", RUN));
    assert_true(seen.oldest_ns < 5 * LOOK_NS); /* a page fault may block it for two looks */
    assert_int_equal(seen.turn.end_ns, 0);
    leave();
}

static void a_counter_sees_turns(void **state) {
    (void)state;
    static const char works[] = {RUN, SLEEP, NESTED};
    for (unsigned i = 0; i < sizeof works; i++) {
        if (!watch_turn("counter", works[i])) {
            skip();
        }
        expect_turn();
        leave();
    }
}

/* False: the thread did not block in the wait before, as on a busy machine. Then its start is uncertain. */
static bool record_is_exact(char work) {
    if (!watch_turn("records", work)) {
        skip();
    }
    expect_turn();
    bool exact = seen.turn.earlier_ns == 0;
    if (exact) {
        assert_true(seen.turn.start_ns <= truth->start_ns);
        assert_true(seen.turn.end_ns >= truth->end_ns);
    }
    leave();
    return exact;
}

static void records_know_the_start_and_the_end(void **state) {
    (void)state;
    static const char works[] = {SLEEP, RUN, NESTED};
    for (unsigned i = 0; i < sizeof works; i++) {
        bool exact = record_is_exact(works[i]) || record_is_exact(works[i]) || record_is_exact(works[i]);
        assert_true(exact);
    }
}

static void a_busy_loop_is_no_long_turn(void **state) {
    (void)state;
    static const char ways[][8] = {"looks", "counter", "records"};
    for (unsigned i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        if (watch_turn(ways[i], OFTEN)) {
            print_message("oldest %.1f ms; the longest true turn was %.1f ms\n", (double)seen.oldest_ns / 1e6,
                          (double)truth->longest_ns / 1e6);
            assert_true(seen.oldest_ns <= truth->longest_ns);
            leave();
        }
    }
}

/* No wait of the busy loop blocked, so its last wake is no start of the turn that blocks at last. */
static void a_block_after_a_busy_time_is_a_turn_of_its_own(void **state) {
    (void)state;
    if (!watch("records")) {
        skip();
    }
    const uint64_t busy_ns = hd_os_now_ns();
    send_work(OFTEN);
    look_until(has_started());
    look_until((look(), hd_os_now_ns() >= busy_ns + 4 * ARMED_NS));
    truth->started = 0;
    send_work(SLEEP);
    see_turn();
    assert_true(seen.turn.start_ns >= busy_ns + ARMED_NS);
    leave();
}

/* Takes this CPU until the watcher has looked. The kernel allows 950 ms. */
static void steal(int cpu) {
    const struct sched_param first = {.sched_priority = 1};
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (sched_setaffinity(seen.child, sizeof one, &one) != 0 || sched_setaffinity(0, sizeof one, &one) != 0 ||
        sched_setscheduler(0, SCHED_FIFO, &first) != 0) {
        _exit(1);
    }
    uint64_t until_ns = hd_os_now_ns() + 800 * MS;
    for (truth->stolen = true; hd_os_now_ns() < until_ns && !truth->leave;) {
    }
    _exit(0);
}

/* Wakes the child while another process has its CPU. Returns the number of looks in this time that saw it in
 * its wait; -1: one did not. */
static int look_at_woken_child(int cpu) {
    int looks = 0;
    pid_t thief = fork();
    if (thief == 0) {
        steal(cpu);
    }
    while (!truth->stolen && waitpid(thief, NULL, WNOHANG) == 0) {
        hd_os_nap(MS);
    }
    send_work(RUN);
    for (int i = 0; i < 10; i++) {
        look();
        if (waitpid(thief, NULL, WNOHANG) != 0) {
            return looks;
        }
        looks = looks < 0 || !seen.last.waits ? -1 : looks + 1;
    }
    truth->leave = true;
    waitpid(thief, NULL, 0);
    return looks;
}

static void a_woken_thread_without_a_cpu_is_in_its_wait(void **state) {
    (void)state;
    cpu_set_t all;
    int cpu = 0, looks = 0, sum = 0;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    while (!CPU_ISSET(cpu, &all)) {
        cpu++;
    }
    if (geteuid() != 0 || CPU_COUNT(&all) < 2) {
        skip();
    }
    cpu_set_t others = all;
    CPU_CLR(cpu, &others);
    assert_int_equal(sched_setaffinity(0, sizeof others, &others), 0);
    static const char ways[][8] = {"looks", "counter", "records"};
    for (unsigned i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        if (watch(ways[i])) {
            looks = look_at_woken_child(cpu);
            print_message("%s: %d looks\n", ways[i], looks);
            assert_true(looks >= 0);
            sum += looks;
            leave();
        }
    }
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    if (sum == 0) { /* the kernel refuses SCHED_FIFO, as in some containers */
        skip();
    }
}

static int run_all(const char *user) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(looks_see_a_blocked_turn),
        cmocka_unit_test(looks_take_a_running_turn_for_busy),
        cmocka_unit_test(a_counter_sees_turns),
        cmocka_unit_test(records_know_the_start_and_the_end),
        cmocka_unit_test(a_busy_loop_is_no_long_turn),
        cmocka_unit_test(a_block_after_a_busy_time_is_a_turn_of_its_own),
        cmocka_unit_test(a_woken_thread_without_a_cpu_is_in_its_wait),
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
