/* SPDX-License-Identifier: MIT
 *
 * A program with an event loop that knows nothing of Hangdog: turns are asked for on its standard input, and
 * how long they took, in nanoseconds, goes to its standard output. Until the first question it ticks ten
 * times a second, as a program does that lives. Ends with its standard input.
 *
 *   turns CPU      the processor for its main thread; -1: any
 */
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "programs/turns.h"

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void pin(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (cpu >= 0) {
        CPU_SET((unsigned)cpu, &set);
        sched_setaffinity(0, sizeof set, &set);
    }
}

static void add(int epoll, int fd) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    if (fd < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
        perror("turns: cannot make the loop");
        exit(1);
    }
}

static void must(ssize_t moved, size_t wanted) {
    if (moved != (ssize_t)wanted) {
        exit(moved == 0 ? 0 : 1);
    }
}

int main(int argc, char **argv) {
    struct turns_wanted left = {0};
    struct epoll_event event;
    uint64_t one = 1, n;
    double from = 0;
    int tick_ms = 100;
    pin(argc > 1 ? (int)strtol(argv[1], NULL, 10) : -1);
    int epoll = epoll_create1(EPOLL_CLOEXEC), ready = eventfd(0, EFD_CLOEXEC);
    add(epoll, ready);
    add(epoll, STDIN_FILENO);
    for (;;) {
        if (left.waiting > 0) {
            must(write(ready, &one, sizeof one), sizeof one);
        }
        int found = epoll_wait(epoll, &event, 1, left.empty > 0 ? 0 : left.waiting > 0 ? -1 : tick_ms);
        if (left.waiting > 0) {
            must(read(ready, &n, sizeof n), sizeof n);
            left.waiting--;
        } else if (left.empty > 0) {
            left.empty--;
        } else {
            if (found == 1) {
                must(read(STDIN_FILENO, &left, sizeof left), sizeof left);
                tick_ms = -1;
                from = now_ns();
            }
            continue;
        }
        if (left.waiting + left.empty == 0) {
            double took = now_ns() - from;
            must(write(STDOUT_FILENO, &took, sizeof took), sizeof took);
        }
    }
}
