/* SPDX-License-Identifier: MIT
 *
 * A program with an event loop that measures its own calls (costs.h). It blocks in its loop's wait before
 * each batch, as a loop that is not busy: no watcher suspects it of a hang. Until the first question it ticks
 * fifty times a second. Ends with its standard input.
 *
 *   costs CPU      the processor for its threads; -1: any
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "programs/costs.h"

#define BATCH 1000
#define BATCH_SWITCHES 100
#define BATCHES_MAX 500

static int loop, question, answered;

static double now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int made(int fd) {
    if (fd < 0) {
        perror("costs");
        exit(1);
    }
    return fd;
}

static void add(int epoll, int fd) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    made(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event));
}

static void pass(int fd) {
    uint64_t one = 1;
    made((int)write(fd, &one, sizeof one));
}

static void take(int epoll, int fd) {
    uint64_t n;
    struct epoll_event event;
    made(epoll_wait(epoll, &event, 1, -1));
    made((int)read(fd, &n, sizeof n));
}

static void *answer(void *unused) {
    int epoll = made(epoll_create1(EPOLL_CLOEXEC));
    (void)unused;
    add(epoll, question);
    for (;;) {
        take(epoll, question);
        pass(answered);
    }
    return NULL;
}

/* Of one, in nanoseconds. */
static double batch(const char *kind, int answers) {
    struct epoll_event event;
    unsigned count = strcmp(kind, COSTS_SWITCH) == 0 ? BATCH_SWITCHES : BATCH;
    double from = now_ns();
    for (unsigned i = 0; i < count; i++) {
        if (strcmp(kind, COSTS_WAIT) == 0) {
            epoll_wait(loop, &event, 1, 0);
        } else if (strcmp(kind, COSTS_CALL) == 0) {
            syscall(SYS_getppid);
        } else {
            pass(question);
            take(answers, answered);
        }
    }
    return (now_ns() - from) / count;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    static double took[BATCHES_MAX];
    struct epoll_event event;
    pthread_t thread;
    char line[64], kind[16];
    cpu_set_t set;
    int cpu = argc > 1 ? atoi(argv[1]) : -1, tick_ms = 20;
    CPU_ZERO(&set);
    if (cpu >= 0) {
        CPU_SET((unsigned)cpu, &set);
        sched_setaffinity(0, sizeof set, &set);
    }
    int answers = made(epoll_create1(EPOLL_CLOEXEC));
    loop = made(epoll_create1(EPOLL_CLOEXEC));
    question = made(eventfd(0, EFD_CLOEXEC));
    answered = made(eventfd(0, EFD_CLOEXEC));
    add(answers, answered);
    add(loop, STDIN_FILENO);
    made(-pthread_create(&thread, NULL, answer, NULL));
    for (;;) {
        unsigned batches;
        if (epoll_wait(loop, &event, 1, tick_ms) != 1) {
            continue;
        }
        ssize_t n = read(STDIN_FILENO, line, sizeof line - 1);
        line[n > 0 ? n : 0] = '\0';
        if (sscanf(line, "%15s %u", kind, &batches) != 2 || batches > BATCHES_MAX) {
            return n == 0 ? 0 : 1;
        }
        for (unsigned i = 0; i < batches; i++) {
            epoll_wait(loop, &event, 1, 1);
            took[i] = batch(kind, answers);
        }
        qsort(took, batches, sizeof took[0], compare);
        printf("%.1f\n", took[batches / 2]);
        fflush(stdout);
    }
}
