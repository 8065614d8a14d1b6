/* SPDX-License-Identifier: MIT
 *
 * A handler that waits for another thread, in a pool: another one waits by the same epoll instance meanwhile,
 * and serves nobody who waits for this thread.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#include "made.h"

static sem_t answer;

static void *serve(void *ep) {
    struct epoll_event e;
    epoll_wait(*(int *)ep, &e, 1, -1);
    return NULL;
}

__attribute__((noinline)) static void await_answer(int ms) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += ms * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    note("begin", "busy");
    while (sem_timedwait(&answer, &until) == 0) {
    }
    note("end", "busy");
}

__attribute__((noinline)) static void fetch(int ms) {
    await_answer(ms);
    __asm__ volatile("");
}

__attribute__((noinline)) static void ask(int ms) {
    fetch(ms);
    __asm__ volatile("");
}

int main(void) {
    const char *file = getenv("HANGDOG_MARKS");
    pthread_t other;
    int ep = instance();
    marks = open(file != NULL ? file : "/dev/null", O_WRONLY | O_APPEND | O_CLOEXEC);
    sem_init(&answer, 0, 0);
    pthread_create(&other, NULL, serve, &ep);
    turns(ep, 32, 150, ask, 300);
    return 0;
}
