/* SPDX-License-Identifier: MIT
 *
 * idle_host PROCESSES THREADS: so many processes of so many threads, each in an epoll loop with a timer of
 * 0.2 to 5 s. Prints `ready`, and ends with its standard input.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <unistd.h>

static void *turn_for_ever(void *number) {
    unsigned seed = (unsigned)(uintptr_t)number * 7919 + (unsigned)getpid();
    int epoll = epoll_create1(0), timer = timerfd_create(CLOCK_MONOTONIC, 0);
    long ms = 200 + rand_r(&seed) % 4800;
    struct itimerspec period = {{ms / 1000, ms % 1000 * 1000000}, {ms / 1000, ms % 1000 * 1000000}};
    struct epoll_event event = {.events = EPOLLIN};
    timerfd_settime(timer, 0, &period, NULL);
    epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &event);
    for (uint64_t times; epoll_wait(epoll, &event, 1, -1) >= 0 && read(timer, &times, sizeof times) > 0;) {
    }
    return NULL;
}

static void be_process(unsigned threads) {
    pthread_attr_t small;
    pthread_t thread;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    for (unsigned i = 1; i < threads; i++) {
        if (pthread_create(&thread, &small, turn_for_ever, (void *)(uintptr_t)i) != 0) {
            _exit(1);
        }
    }
    turn_for_ever(NULL);
    _exit(0);
}

int main(int argc, char **argv) {
    char byte;
    if (argc < 3) {
        return 2;
    }
    for (int i = 0; i < atoi(argv[1]); i++) {
        if (fork() == 0) {
            be_process((unsigned)atoi(argv[2]));
        }
    }
    puts("ready");
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0) {
    }
    return 0;
}
