/* SPDX-License-Identifier: MIT
 *
 * The editor: a loop of its own, which calls the handler of one event. usage: editor EVENT
 */
#include "editor.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

volatile unsigned sink;
static int64_t deadline;

static int64_t now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

bool over(void) {
    return now_ms() >= deadline;
}

void sleep_ms(int ms) {
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    nanosleep(&t, NULL);
}

struct call {
    void (*call)(void *);
    void *argument;
};

static void *run_later(void *argument) {
    struct call c = *(struct call *)argument;
    free(argument);
    sleep_ms(BUG_MS);
    c.call(c.argument);
    return NULL;
}

void later(void (*call)(void *), void *argument) {
    pthread_t thread;
    struct call *c = malloc(sizeof *c);
    *c = (struct call){call, argument};
    pthread_create(&thread, NULL, run_later, c);
    pthread_detach(thread);
}

static void arm(int timer, int ms) {
    struct itimerspec when = {.it_value = {.tv_nsec = ms * 1000000L}};
    timerfd_settime(timer, 0, &when, NULL);
}

static const struct handler *find(const struct handler *h, const char *event) {
    for (; h->event != NULL; h++) {
        if (strcmp(h->event, event) == 0) {
            return h;
        }
    }
    return NULL;
}

static void dispatch(const struct handler *h, int turn) {
    if (turn == 12) {
        deadline = now_ms() + BUG_MS;
        h->handle();
    }
}

int main(int argc, char **argv) {
    const struct handler *h = find(computing, argc > 1 ? argv[1] : "");
    h = h != NULL ? h : find(waiting, argc > 1 ? argv[1] : "");
    if (h == NULL) {
        fprintf(stderr, "usage: editor EVENT\n");
        return 2;
    }
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK), loop = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(loop, EPOLL_CTL_ADD, timer, &event);
    for (int turn = 0; turn < 18; turn++) {
        uint64_t times;
        arm(timer, 10);
        epoll_wait(loop, &event, 1, -1);
        if (read(timer, &times, sizeof times) > 0) {
            dispatch(h, turn);
        }
    }
    return 0;
}
