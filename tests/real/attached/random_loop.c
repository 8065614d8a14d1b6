/* SPDX-License-Identifier: MIT
 *
 * random_loop SEED SECONDS: a loop whose kind, wait and work follow from the seed. The truth is its own
 * clock: it prints `start MONOTONIC REALTIME KIND` first, and `turn START END` at its end for each turn of
 * 200 ms or more. scripts/attach-campaign watches 200 of them.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000.0
#define TURNS_MAX 256

enum kind {
    READY,         /* its wait never blocks */
    READY_RUNS,    /* the same with one hang that runs */
    READY_BLOCKS,  /* the same with one that blocks */
    READY_CALLS,   /* the same with one of many short calls */
    ORDINARY,      /* it waits for 0.2 to 60 ms */
    ORDINARY_HANG, /* the same with a hang of any form */
    LONG_TURNS,    /* turns of 20 to 200 ms, and no wait that blocks */
    BUSY,          /* it waits for less than 0.5 ms */
    NESTED,        /* callbacks wait in another epoll instance, one of them for long */
    STARVED,       /* another process takes its CPU */
    KINDS
};
static const char *const kind_names[KINDS] = {"ready",    "ready-runs",    "ready-blocks", "ready-calls",
                                              "ordinary", "ordinary-hang", "long-turns",   "busy",
                                              "nested",   "starved"};
enum form {
    RUNS,
    RUNS_IN_STEPS,
    SLEEPS,
    POLLS,
    READS,
    SHORT_SLEEPS,
    NESTED_WAIT,
    FORMS
};

static enum kind kind;
static unsigned call; /* of the wait */
static int by_socket, loop_fds[3], sockets[2], other_epoll, silent[2], zero, epoll;
static uint64_t random_state;
static struct {
    uint64_t start, end;
} turns[TURNS_MAX];
static volatile double sum;

static uint64_t clock_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t now_ns(void) {
    return clock_ns(CLOCK_MONOTONIC);
}

static double between(double low, double high) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return low + (high - low) * (double)(random_state >> 11) / 9007199254740992.0;
}

static void wait_in(int fd, double ms) {
    struct pollfd p = {fd, POLLIN, 0};
    poll(&p, 1, (int)ms);
}

static __attribute__((noinline)) void run_for(double ms) {
    for (uint64_t end = now_ns() + (uint64_t)(ms * MS); now_ns() < end;) {
        for (int i = 0; i < 200; i++) {
            sum += i;
        }
    }
}

static __attribute__((noinline)) void hang_for(double ms, enum form form) {
    char bytes[4096];
    struct epoll_event event;
    struct timespec whole = {(time_t)(ms / 1e3), (long)(ms * MS) % 1000000000}, piece = {0, 3000000};
    uint64_t end = now_ns() + (uint64_t)(ms * MS);
    switch (form) {
    case RUNS:
        run_for(ms);
        break;
    case SLEEPS:
        nanosleep(&whole, NULL);
        break;
    case POLLS:
        wait_in(silent[0], ms);
        break;
    case NESTED_WAIT:
        epoll_wait(other_epoll, &event, 1, (int)ms);
        break;
    default:
        while (now_ns() < end) {
            if (form == READS && read(zero, bytes, sizeof bytes) > 0) {
                run_for(0.2);
            } else if (form == SHORT_SLEEPS) {
                nanosleep(&piece, NULL);
                run_for(1);
            } else {
                run_for(5);
            }
        }
    }
}

/* The loop's own wait, by one of five calls. */
static void loop_wait(void) {
    struct epoll_event events[8];
    struct pollfd p[3];
    fd_set set;
    switch (call) {
    case 0:
        epoll_wait(epoll, events, 8, -1);
        break;
    case 1:
        epoll_pwait(epoll, events, 8, -1, NULL);
        break;
    case 2:
    case 3:
        for (int i = 0; i < 3; i++) {
            p[i] = (struct pollfd){loop_fds[i], POLLIN, 0};
        }
        (void)(call == 2 ? poll(p, 3, -1) : ppoll(p, 3, NULL, NULL));
        break;
    default:
        FD_ZERO(&set);
        for (int i = 0; i < 3; i++) {
            FD_SET(loop_fds[i], &set);
        }
        select(loop_fds[2] + loop_fds[1] + loop_fds[0], &set, NULL, NULL, NULL);
    }
}

static void make_ready(void) {
    uint64_t one = 1;
    if (by_socket ? send(sockets[1], &one, 1, 0) < 0 : write(loop_fds[1], &one, 8) < 0) {
        exit(1);
    }
}

static void arm(double ms) {
    struct itimerspec when = {.it_value = {(time_t)(ms / 1e3), (long)(ms * MS) % 1000000000 + 1}};
    timerfd_settime(loop_fds[2], 0, &when, NULL);
}

/* Reads what is there, works or hangs. */
static __attribute__((noinline)) void callback(double busy_ms, double hang_ms, enum form form) {
    char bytes[64];
    struct epoll_event event;
    for (int i = 0; i < 3; i++) {
        if (i == 0 ? recv(loop_fds[0], bytes, 1, MSG_DONTWAIT) < 0 : read(loop_fds[i], bytes, 8) < 0) {
            continue;
        }
    }
    if (kind == NESTED) {
        epoll_wait(other_epoll, &event, 1, (int)between(1, 8));
    }
    hang_ms > 0 ? hang_for(hang_ms, form) : run_for(busy_ms);
}

static void open_all(void) {
    socketpair(AF_UNIX, SOCK_STREAM, 0, sockets);
    loop_fds[0] = sockets[0];
    loop_fds[1] = eventfd(0, EFD_NONBLOCK);
    loop_fds[2] = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    zero = open("/dev/zero", O_RDONLY);
    epoll = epoll_create1(0);
    other_epoll = epoll_create1(0);
    if (pipe(silent) != 0) {
        exit(1);
    }
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(other_epoll, EPOLL_CTL_ADD, silent[0], &event);
    for (int i = 0; i < 3; i++) {
        epoll_ctl(epoll, EPOLL_CTL_ADD, loop_fds[i], &event);
    }
}

/* On one CPU with a process of higher priority, which runs for 0.3 to 0.6 s of each second. */
static void be_starved(void) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((unsigned)sched_getcpu(), &set);
    sched_setaffinity(0, sizeof set, &set);
    pid_t parent = getpid();
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (getppid() == parent) {
            run_for(between(300, 600));
            usleep(500000);
        }
        _exit(0);
    }
    sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){0});
}

/* An idle start: a tick each 50 ms until standard input has something. */
static void be_idle(void) {
    for (int there = 0; there == 0; ioctl(STDIN_FILENO, FIONREAD, &there)) {
        arm(50);
        loop_wait();
        callback(0.1, 0, RUNS);
    }
}

int main(int argc, char **argv) {
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    double seconds = argc > 2 ? atof(argv[2]) : 4;
    random_state = seed * 0x9E3779B97F4A7C15u + 12345;
    for (int i = 0; i < 9; i++) {
        between(0, 1);
    }
    kind = (enum kind)(seed % KINDS);
    call = (unsigned)between(0, 5);
    by_socket = between(0, 1) < 0.5;
    int ready = kind <= READY_CALLS || kind == LONG_TURNS, done = 0, count = 0;
    double low = kind == LONG_TURNS ? 20 : 0.5, high = kind == LONG_TURNS ? between(50, 200) : between(1, 8);
    double gap = kind == BUSY ? 0.5 : between(1, 60);
    double hang_ms =
        kind == READY || kind == ORDINARY || kind == LONG_TURNS || kind == BUSY || kind == STARVED
            ? 0
            : between(400, 1500);
    enum form form = (enum form)between(0, FORMS - 1);
    form = kind == READY_RUNS ? form % 2 : kind == READY_BLOCKS ? SLEEPS + form % 2 : form;
    form = kind == READY_CALLS ? READS + form % 2 : kind == NESTED ? NESTED_WAIT : form;
    open_all();
    printf("start %llu %llu %s %s\n", (unsigned long long)now_ns(),
           (unsigned long long)clock_ns(CLOCK_REALTIME), kind_names[kind],
           hang_ms > 0 ? (char[]){(char)('0' + form), 0} : "-");
    fflush(stdout);
    if (kind == STARVED) {
        be_starved();
    }
    be_idle();
    uint64_t begin = now_ns(), end = begin + (uint64_t)(seconds * 1e9);
    uint64_t hang_at = begin + (uint64_t)(between(1.5, seconds - 1.6) * 1e9);
    arm(10);
    for (int first = 1;; first = 0) {
        if (!first && ready) {
            make_ready();
        } else if (!first) {
            arm(between(0, gap));
        }
        loop_wait();
        uint64_t start = now_ns();
        int hangs = hang_ms > 0 && !done && start > hang_at;
        callback(between(low, high), hangs ? hang_ms : 0, form);
        done |= hangs;
        uint64_t now = now_ns();
        if (now - start >= 200000000 && count < TURNS_MAX) {
            turns[count].start = start;
            turns[count++].end = now;
        }
        if (now > end) {
            break;
        }
    }
    for (int i = 0; i < count; i++) {
        printf("turn %llu %llu\n", (unsigned long long)turns[i].start, (unsigned long long)turns[i].end);
    }
    return 0;
}
