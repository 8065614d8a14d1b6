/* SPDX-License-Identifier: MIT
 *
 * What the small programs are made of: marks, turns of a loop, things to wait for that never come.
 */
#ifndef MADE_H
#define MADE_H

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static int marks;

/* For how long this thread was ready to run without a processor; 0 where that is not told. */
static unsigned long long delay_ns(void) {
    char text[80] = "";
    unsigned long long ran, delay = 0;
    int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        bool read_both = read(fd, text, sizeof text - 1) > 0 && sscanf(text, "%llu %llu", &ran, &delay) == 2;
        delay = read_both ? delay : 0;
        close(fd);
    }
    return delay;
}

static void note(const char *kind, const char *state) {
    struct timespec ts;
    char line[120];
    clock_gettime(CLOCK_MONOTONIC, &ts);
    int n = snprintf(line, sizeof line, "%lld%09ld %s %s - %llu\n", (long long)ts.tv_sec, ts.tv_nsec, kind,
                     state, delay_ns());
    if (write(marks, line, (size_t)n) != n) {
        _exit(3);
    }
}

static void compute(int ms) {
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    do {
        clock_gettime(CLOCK_MONOTONIC, &b);
    } while ((b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000 < ms);
}

static int instance(void) {
    int ep = epoll_create1(EPOLL_CLOEXEC), fd = eventfd(0, EFD_CLOEXEC);
    struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};
    epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e);
    return ep;
}

static int mute_socket(void) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) {
        _exit(3);
    }
    return pair[0];
}

/* As another process would see it: its end is not among our numbers, and is open. */
static int connection(void) {
    static int listener = -1;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    static socklen_t n = sizeof at;
    static struct sockaddr_in bound;
    if (listener < 0) {
        listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (bind(listener, (struct sockaddr *)&at, n) != 0 || listen(listener, 128) != 0 ||
            getsockname(listener, (struct sockaddr *)&bound, &n) != 0) {
            _exit(3);
        }
    }
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&bound, n) != 0) {
        _exit(3);
    }
    return fd;
}

static void poll_one(int fd, int ms) {
    struct pollfd p = {.fd = fd, .events = POLLIN};
    poll(&p, 1, ms);
}

static void blocked(int fd, int ms) {
    note("begin", "busy");
    poll_one(fd, ms);
    note("end", "busy");
}

/* One turn: wait, then the callback. The compiler must keep the frames apart. */
__attribute__((noinline)) static void turn(int ep, int ms, void (*callback)(int), int argument) {
    struct epoll_event e[8];
    epoll_wait(ep, e, 8, ms);
    if (callback != NULL) {
        callback(argument);
    }
}

__attribute__((noinline)) static void turns(int ep, int n, int ms, void (*callback)(int), int argument) {
    for (int i = 0; i < n; i++) {
        turn(ep, ms, i % 4 == 3 ? callback : NULL, argument);
    }
}

static void block_300(int fd) {
    blocked(fd, 300);
}

#endif
