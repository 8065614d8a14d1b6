/* SPDX-License-Identifier: MIT
 *
 * A pool of two threads, as those that serve Boost.Asio's run() and tokio's workers are: one waits by the
 * epoll instance, the other one on a condition variable, in one function; whoever has had an event leaves the
 * next one to the other.
 */
#include <pthread.h>
#include <sys/timerfd.h>

#include "made.h"

#define EVENTS 21
#define EVERY_NS 700000000

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int events, next;
static int ep, timer;

__attribute__((noinline)) static void *run(void *own) {
    pthread_mutex_lock(&mutex);
    while (events < EVENTS) {
        if (next != (int)(intptr_t)own) {
            pthread_cond_wait(&changed, &mutex);
            continue;
        }
        struct epoll_event e;
        uint64_t times;
        pthread_mutex_unlock(&mutex);
        epoll_wait(ep, &e, 1, -1);
        if (read(timer, &times, sizeof times) != sizeof times) {
            _exit(3);
        }
        pthread_mutex_lock(&mutex);
        events++;
        next = 1 - next;
        pthread_cond_signal(&changed);
    }
    pthread_mutex_unlock(&mutex);
    return NULL;
}

int main(void) {
    struct itimerspec every = {.it_interval.tv_nsec = EVERY_NS, .it_value.tv_nsec = EVERY_NS};
    struct epoll_event e = {.events = EPOLLIN};
    pthread_t other;
    ep = epoll_create1(EPOLL_CLOEXEC);
    timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    epoll_ctl(ep, EPOLL_CTL_ADD, timer, &e);
    timerfd_settime(timer, 0, &every, NULL);
    pthread_create(&other, NULL, run, (void *)1);
    run((void *)0);
    pthread_join(other, NULL);
    return 0;
}
