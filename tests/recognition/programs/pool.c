/* SPDX-License-Identifier: MIT
 *
 * A pool of two threads, as those that serve Boost.Asio's run() and tokio's workers are: one waits by the
 * epoll instance, the other one on a condition variable, in one function; whoever has had an event leaves the
 * next one to the other. With an argument main has two events of three, the first one soon after it begins,
 * and the other one is busy, some of the times, before it comes to wait: for so long nobody serves.
 */
#include <pthread.h>
#include <sys/timerfd.h>

#include "made.h"

#define EVENTS 21
#define EVERY_NS 700000000
#define BEFORE_NS 325000000
#define SOON_NS 10000000

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int events, next;
static int ep, timer;
static bool is_busy;

static int whose(int event) {
    return is_busy ? event % 3 == 1 : event % 2;
}

/* In the launch, before anybody knows by what main waits; in the loop, shorter than a hang; as long as one.
 */
static int busy_ms(int event) {
    return !is_busy ? 0 : event == 1 || event == 10 ? 150 : event == 16 ? 400 : 0;
}

__attribute__((noinline)) static void *run(void *own) {
    pthread_mutex_lock(&mutex);
    while (events < EVENTS) {
        if (next != (int)(intptr_t)own) {
            pthread_cond_wait(&changed, &mutex);
            continue;
        }
        struct epoll_event e;
        uint64_t times;
        int ms = busy_ms(events);
        pthread_mutex_unlock(&mutex);
        nanosleep(&(struct timespec){.tv_nsec = ms * 1000000L}, NULL);
        epoll_wait(ep, &e, 1, -1);
        if (read(timer, &times, sizeof times) != sizeof times) {
            _exit(3);
        }
        pthread_mutex_lock(&mutex);
        events++;
        next = whose(events);
        pthread_cond_signal(&changed);
    }
    pthread_mutex_unlock(&mutex);
    return NULL;
}

int main(int argc, char **argv) {
    struct itimerspec every = {.it_interval.tv_nsec = EVERY_NS, .it_value.tv_nsec = EVERY_NS};
    struct epoll_event e = {.events = EPOLLIN};
    pthread_t other;
    (void)argv;
    is_busy = argc > 1;
    if (is_busy) {
        nanosleep(&(struct timespec){.tv_nsec = BEFORE_NS}, NULL);
        every.it_value.tv_nsec = SOON_NS;
    }
    ep = epoll_create1(EPOLL_CLOEXEC);
    timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    epoll_ctl(ep, EPOLL_CTL_ADD, timer, &e);
    timerfd_settime(timer, 0, &every, NULL);
    pthread_create(&other, NULL, run, (void *)1);
    run((void *)0);
    pthread_join(other, NULL);
    return 0;
}
