/* SPDX-License-Identifier: MIT
 *
 * Small programs with a known loop, one for each thing that makes loops hard to tell. `made NAME` runs one;
 * what it does is written to the marks file: when it blocks on purpose, when its loop runs.
 */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/time.h>
#include <ucontext.h>

#include "made.h"

/* Round trips to three servers, then the loop. */
static void startup(void) {
    int server[3] = {mute_socket(), mute_socket(), mute_socket()};
    for (int i = 0; i < 40; i++) {
        poll_one(server[i % 3], i % 13 == 0 ? 60 : 4);
    }
    int ep = instance();
    note("from", "idle");
    turns(ep, 20, 120, block_300, server[0]);
}

/* A hundred sockets, one after the other, with work in between. */
static void batch(void) {
    note("from", "none");
    for (int i = 0; i < 100; i++) {
        int fd = mute_socket();
        poll_one(fd, 15);
        poll_one(fd, 15);
        compute(40);
    }
}

/* The same, each closed before the next: their numbers are one. */
static void batch_that_closes(void) {
    note("from", "none");
    for (int i = 0; i < 100; i++) {
        int fd = connection();
        poll_one(fd, 15);
        poll_one(fd, 15);
        close(fd);
        compute(i % 20 == 19 ? 600 : 40);
    }
}

__attribute__((noinline)) static void deeper(int depth, int ep, int fd) {
    volatile char room[200];
    memset((void *)(uintptr_t)room, 1, sizeof room);
    if (depth > 0) {
        deeper(depth - 1, ep, fd);
    } else {
        turns(ep, 10, 100, block_300, fd);
    }
    room[0] = 2;
}

/* The loop is left and entered again at other depths. */
static void reentered(void) {
    int ep = instance(), fd = mute_socket();
    note("from", "idle");
    deeper(5, ep, fd);
    deeper(0, ep, fd);
    deeper(9, ep, fd);
    deeper(2, ep, fd);
}

static void block_by_epoll(int unused) {
    (void)unused;
    int ep = instance();
    note("begin", "busy");
    for (int i = 0; i < 3; i++) {
        turn(ep, 100, NULL, 0);
    }
    note("end", "busy");
    close(ep);
}

/* An instance of its own for each call, in the very function that also waits for the loop. */
static void private_epoll(void) {
    int ep = instance();
    note("from", "idle");
    turns(ep, 24, 100, block_by_epoll, 0);
}

__attribute__((noinline)) static void poll_turn(struct pollfd *fds, nfds_t n, int ms) {
    poll(fds, n, ms);
}

/* Loop and blocking call by one function, one of the loop's own descriptors. */
static void rogue(void) {
    struct pollfd fds[2] = {{.fd = mute_socket(), .events = POLLIN}, {.fd = mute_socket(), .events = POLLIN}};
    note("from", "idle");
    for (int i = 0; i < 30; i++) {
        poll_turn(fds, 2, 100);
        if (i % 5 == 4) {
            note("begin", "busy");
            poll_turn(&fds[i % 2], 1, 400);
            note("end", "busy");
        }
    }
}

static jmp_buf out;

static void jump(int fd) {
    blocked(fd, 300);
    longjmp(out, 1);
}

/* Every fourth turn leaves the loop by longjmp. */
static void jumping(void) {
    static volatile int round;
    static int ep, fd;
    ep = instance();
    fd = mute_socket();
    note("from", "idle");
    while (round < 6) {
        if (setjmp(out) == 0) {
            turns(ep, 8, 100, jump, fd);
        }
        round++;
    }
}

static sigjmp_buf out_of_the_wait;

static void alarm_rings(int signal) {
    (void)signal;
    siglongjmp(out_of_the_wait, 1);
}

/* A handler leaves the loop's wait by siglongjmp, as old timeouts do; then it computes. */
static void signal_jumping(void) {
    static volatile int round;
    static int ep;
    struct itimerval timer = {.it_value.tv_usec = 150000};
    ep = instance();
    signal(SIGALRM, alarm_rings);
    note("from", "idle");
    for (round = 0; round < 6; round++) {
        turns(ep, 6, 100, NULL, 0);
        if (sigsetjmp(out_of_the_wait, 1) == 0) {
            setitimer(ITIMER_REAL, &timer, NULL);
            turn(ep, 3000, NULL, 0);
        }
        note("begin", "busy");
        compute(400);
        note("end", "busy");
    }
}

__attribute__((noinline)) static void deeper_wait(int depth, int ep) {
    volatile char room[100];
    memset((void *)(uintptr_t)room, 1, sizeof room);
    if (depth > 0) {
        deeper_wait(depth - 1, ep);
    } else {
        turn(ep, 500, NULL, 0);
    }
    room[0] = 2;
}

/* Work, shorter than a hang, and then a loop at a place where it never waited: what that wait is, is found
 * out when the turn would be a hang with it. */
static void nested_late(void) {
    int ep = instance();
    note("from", "idle");
    turns(ep, 16, 100, NULL, 0);
    for (int i = 0; i < 8; i++) {
        turns(ep, 2, 100, NULL, 0);
        compute(170);
        note("begin", "idle");
        deeper_wait(i + 2, ep);
        note("end", "idle");
    }
}

/* Its third wait is longer than a launch may be, and what it was is known in the midst of many short turns.
 */
static void long_first(void) {
    int ep = instance(), fd = mute_socket();
    note("from", "idle");
    turns(ep, 2, 20, NULL, 0);
    turn(ep, 10500, NULL, 0);
    turns(ep, 300, 1, NULL, 0);
    turns(ep, 12, 100, block_300, fd);
}

/* Names are asked for before the loop, each by a new socket, with a second try; then round trips by one. */
static void resolver_start(void) {
    int display = mute_socket();
    for (int i = 0; i < 4; i++) {
        int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        poll_one(fd, 150);
        poll_one(fd, 250);
        close(fd);
    }
    for (int i = 0; i < 100; i++) {
        poll_one(display, 2);
    }
    int ep = instance();
    note("from", "idle");
    turns(ep, 10, 300, NULL, 0);
    turns(ep, 30, 120, block_300, mute_socket());
}

static void pump(int fd) {
    note("begin", "busy");
    for (int i = 0; i < 20; i++) {
        poll_one(fd, 0);
        compute(10);
    }
    poll_one(fd, 250);
    note("end", "busy");
}

/* Zero timeouts: before each of the loop's waits, and on another descriptor in a long callback. */
static void zero(void) {
    int ep = instance(), fd = mute_socket();
    note("from", "idle");
    for (int i = 0; i < 24; i++) {
        turn(ep, 0, NULL, 0);
        turn(ep, 100, i % 4 == 3 ? pump : NULL, fd);
    }
}

/* One loop for its time, then another, for longer: it succeeds when the first has been absent for 10 s. */
static void in_turn(void) {
    int first = instance(), fd = mute_socket();
    struct pollfd second[2] = {{.fd = mute_socket(), .events = POLLIN},
                               {.fd = mute_socket(), .events = POLLIN}};
    note("from", "idle");
    turns(first, 14, 100, block_300, fd);
    close(first);
    note("from", "over"); /* the second is not known yet */
    for (int i = 0; i < 116; i++) {
        poll_turn(second, 2, 100);
        if (i % 20 == 19) {
            blocked(fd, 300);
        }
    }
    note("from", "idle");
    for (int i = 0; i < 12; i++) {
        poll_turn(second, 2, 100);
        if (i % 4 == 3) {
            blocked(fd, 300);
        }
    }
}

__attribute__((noinline)) static void query(int database, int through) {
    if (through > 0) {
        query(database, through - 1);
    } else {
        poll_one(database, 30);
    }
    __asm__ volatile("");
}

/* A worker that asks its data base by poll, and is idle where nobody sees it wait for one of many: in accept,
 * in a condition variable, asleep. */
static void idle_elsewhere(void) {
    int database = mute_socket();
    note("from", "none");
    for (int i = 0; i < 40; i++) {
        query(database, 6);
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    for (int i = 0; i < 5; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 900000000}, NULL);
        query(database, 6);
    }
}

static ucontext_t outside, inside;
static int coroutine_ep, coroutine_fd;

static void on_its_stack(void) {
    turns(coroutine_ep, 20, 100, block_300, coroutine_fd);
}

/* The loop runs on a stack of its own; some waits come from the main one. */
static void coroutine(void) {
    static char stack[256 * 1024];
    coroutine_ep = instance();
    coroutine_fd = mute_socket();
    getcontext(&inside);
    inside.uc_stack.ss_sp = stack;
    inside.uc_stack.ss_size = sizeof stack;
    inside.uc_link = &outside;
    makecontext(&inside, on_its_stack, 0);
    note("from", "idle");
    swapcontext(&outside, &inside);
    note("from", "over");
    blocked(coroutine_fd, 300);
}

/* Start-up blocks for long elsewhere: only by its returns is the loop known for what it is. */
static void coroutine_late(void) {
    nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
    coroutine();
}

/* As many handlers on stacks of their own, switched to from the loop: a block there is a block. */
static void handler(void) {
    for (;;) {
        blocked(coroutine_fd, 250);
        swapcontext(&inside, &outside);
    }
}

static void switch_to_handler(int unused) {
    (void)unused;
    swapcontext(&outside, &inside);
}

static void fibers(void) {
    static char stack[256 * 1024];
    int ep = instance();
    coroutine_fd = mute_socket();
    getcontext(&inside);
    inside.uc_stack.ss_sp = stack;
    inside.uc_stack.ss_size = sizeof stack;
    inside.uc_link = &outside;
    makecontext(&inside, handler, 0);
    note("from", "idle");
    turns(ep, 24, 100, switch_to_handler, 0);
}

/* Most of its time the loop's callbacks block: still a loop. */
static void mostly_blocked(void) {
    int ep = instance(), fd = mute_socket();
    note("from", "idle");
    turns(ep, 8, 100, block_300, fd);
    for (int i = 0; i < 8; i++) {
        turn(ep, 60, block_300, fd);
    }
}

/* The first callbacks block before the loop is known. */
static void early(void) {
    int ep = instance(), fd = mute_socket();
    note("from", "idle");
    for (int i = 0; i < 4; i++) {
        turn(ep, 30, block_300, fd);
    }
    turns(ep, 20, 100, block_300, fd);
}

/* A descriptor that the loop no longer watches, one that it watches from now on. */
static void moving_set(void) {
    struct pollfd fds[6];
    for (int i = 0; i < 6; i++) {
        fds[i] = (struct pollfd){.fd = mute_socket(), .events = POLLIN};
    }
    note("from", "idle");
    for (int i = 0; i < 40; i++) {
        poll_turn(fds + i / 20, 2 + (nfds_t)i / 10 % 3, 60);
        if (i % 10 == 9) {
            note("begin", "busy");
            poll_one(fds[1].fd, 300);
            note("end", "busy");
        }
    }
}

/* Many short polls, as a download makes them. */
static void transfer(int fd, int ms, const char *state) {
    note("begin", state);
    for (int i = 0; i < ms / 100; i++) {
        poll_one(fd, 100);
        compute(1);
    }
    note("end", state);
}

static void start_and_callbacks(int at_start, int in_callbacks) {
    int ep = instance();
    transfer(at_start, 3000, "start");
    note("from", "idle");
    turns(ep, 4, 700, block_300, in_callbacks);
    turns(ep, 36, 100, block_300, in_callbacks);
}

/* A download of 3 s, then the loop, with long waits of its own. */
static void transfer_start(void) {
    start_and_callbacks(mute_socket(), mute_socket());
}

/* The same by one connection. */
static void connection_start(void) {
    int fd = mute_socket();
    start_and_callbacks(fd, fd);
}

static void long_transfer(int fd) {
    transfer(fd, 4000, "busy");
}

/* Transfers in callbacks, each longer than all that the loop has waited. */
static void transfer_callback(void) {
    int fd = mute_socket(), ep = instance();
    note("from", "idle");
    turns(ep, 12, 100, long_transfer, fd);
    turns(ep, 40, 100, block_300, fd);
}

__attribute__((noinline)) static void wide_wait(int ep, int ms) {
    volatile struct epoll_event e[1024];
    epoll_wait(ep, (struct epoll_event *)(uintptr_t)e, 1024, ms);
}

/* As libuv: the wait's frame is wide, and callbacks are run by its caller. A blocking call is shallower. */
static void wide_frame(void) {
    int fd = mute_socket(), ep = instance();
    note("from", "idle");
    for (int i = 0; i < 24; i++) {
        wide_wait(ep, 100);
        if (i % 4 == 3) {
            blocked(fd, 300);
        }
        if (i == 11) {
            transfer(fd, 1000, "busy");
        }
    }
}

static void sleep_by_poll(int ms) {
    poll(NULL, 0, ms);
}

/* Sleeps by poll, as older interpreters do: of two places, in turn. */
static void sleepers(void) {
    note("from", "none");
    for (int i = 0; i < 12; i++) {
        poll(NULL, 0, 200);
        compute(5);
        sleep_by_poll(i % 3 == 2 ? 700 : 20);
    }
}

/* Start-up asks a server and computes with each answer, as a loop would; then comes the loop. */
static void query_start(void) {
    int server = mute_socket(), ep = instance();
    note("begin", "idle"); /* nothing is to be told of it */
    for (int i = 0; i < 6; i++) {
        poll_one(server, 100);
        compute(300);
    }
    note("end", "idle");
    note("from", "idle");
    turns(ep, 40, 100, block_300, mute_socket());
}

static void poll_turns(struct pollfd *fds, int n, int fd) {
    for (int i = 0; i < n; i++) {
        poll_turn(fds, 2, 100);
        if (i % 12 == 11) {
            blocked(fd, 300);
        }
    }
}

static void replace(struct pollfd *fds, bool first_the_new) {
    for (int i = 0; i < 2; i++) {
        int old = fds[i].fd;
        if (!first_the_new) {
            close(old);
        }
        fds[i].fd = mute_socket();
        if (first_the_new) {
            close(old);
        }
    }
}

/* A loop beyond doubt gets other descriptors, all of them, as a server does that reads its configuration
 * anew: with other numbers, and with the same. */
static void remade(void) {
    struct pollfd fds[2] = {{.fd = mute_socket(), .events = POLLIN}, {.fd = mute_socket(), .events = POLLIN}};
    int fd = mute_socket();
    note("from", "idle");
    for (int time = 0; time < 3; time++) {
        poll_turns(fds, time == 0 ? 96 : 36, fd);
        replace(fds, time == 0);
    }
}

/* The loop is closed, and another one made where no loop was: nearer to the root. */
static void remade_elsewhere(void) {
    struct pollfd fds[2] = {{.fd = mute_socket(), .events = POLLIN}, {.fd = mute_socket(), .events = POLLIN}};
    int ep = instance(), fd = mute_socket();
    note("from", "idle");
    turns(ep, 96, 100, block_300, fd);
    close(ep);
    for (int i = 0; i < 36; i++) {
        poll(fds, 2, 100);
        if (i % 12 == 11) {
            blocked(fd, 300);
        }
    }
}

/* A look at one of the loop's descriptors, then work, then the loop. */
static void look_first(void) {
    struct pollfd fds[2] = {{.fd = mute_socket(), .events = POLLIN}, {.fd = mute_socket(), .events = POLLIN}};
    note("begin", "idle"); /* a launch, and no long one */
    poll_one(fds[0].fd, 0);
    compute(900);
    note("end", "idle");
    note("from", "idle");
    for (int i = 0; i < 20; i++) {
        poll(fds, 2, 100);
    }
}

/* Two connections, one after the other: what looked like a loop has lost its half of the time when the
 * program ends. */
static void outweighed(void) {
    int first = connection(), second = connection();
    note("from", "none");
    for (int i = 0; i < 4; i++) {
        poll_one(first, 150);
        compute(5);
    }
    poll_one(second, 2400);
}

/* Asks a little when it starts, and then waits for good where no wait of ours is. */
static void parks(int seconds) {
    int fd = connection();
    note("from", "none");
    for (int i = 0; i < 4; i++) {
        poll_one(fd, 150);
        compute(5);
    }
    nanosleep(&(struct timespec){.tv_sec = seconds}, NULL);
}

static void parked(void) {
    parks(3);
}

/* The same, and nothing ends it but a signal. */
static void parked_for_good(void) {
    parks(1000);
}

/* Built so that it may ask for a namespace, it computes before it is watched, which is from its first wait
 * on: what its thread ran by then says nothing of what it is blocked later. */
static void computes_first(void) {
    int first = connection(), second = connection();
    note("from", "none");
    compute(3500);
    for (int i = 0; i < 4; i++) {
        poll_one(first, 100);
    }
    nanosleep(&(struct timespec){.tv_sec = 3}, NULL);
    poll_one(second, 10);
#ifdef MAY_UNSHARE
    if (second < 0) {
        unshare(CLONE_NEWUSER);
    }
#endif
}

static const struct {
    const char *name;
    void (*run)(void);
} programs[] = {
    {"startup", startup},
    {"batch", batch},
    {"batch-closing", batch_that_closes},
    {"reentered", reentered},
    {"private-epoll", private_epoll},
    {"rogue", rogue},
    {"jumping", jumping},
    {"signal-jumping", signal_jumping},
    {"nested-late", nested_late},
    {"long-first", long_first},
    {"resolver-start", resolver_start},
    {"zero", zero},
    {"in-turn", in_turn},
    {"idle-elsewhere", idle_elsewhere},
    {"coroutine", coroutine},
    {"coroutine-late", coroutine_late},
    {"fibers", fibers},
    {"early", early},
    {"mostly-blocked", mostly_blocked},
    {"moving-set", moving_set},
    {"transfer-start", transfer_start},
    {"connection-start", connection_start},
    {"transfer-callback", transfer_callback},
    {"wide-frame", wide_frame},
    {"query-start", query_start},
    {"remade", remade},
    {"remade-elsewhere", remade_elsewhere},
    {"look-first", look_first},
    {"sleepers", sleepers},
    {"outweighed", outweighed},
    {"parked", parked},
    {"parked-for-good", parked_for_good},
    {"computes-first", computes_first},
};

int main(int argc, char **argv) {
    const char *file = getenv("HANGDOG_MARKS");
    marks = open(file != NULL ? file : "/dev/null", O_WRONLY | O_APPEND | O_CLOEXEC);
    for (unsigned i = 0; argc == 2 && i < sizeof programs / sizeof programs[0]; i++) {
        if (strcmp(argv[1], programs[i].name) == 0) {
            programs[i].run();
            return 0;
        }
    }
    for (unsigned i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        puts(programs[i].name);
    }
    return 2;
}
