/* SPDX-License-Identifier: MIT
 *
 * A program that leaves a wait of its loop as the first argument names, and then computes for HANG_MS in
 * `computes`. It says "survived" at the end.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

#include "listening.h"

#define HANG_MS 1500
#define TURNS 12

static int server;
static pthread_t main_thread;
static ucontext_t after_wait;

static uint64_t now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void nap(long ms) {
    uint64_t end = now_ms() + (uint64_t)ms;
    while (now_ms() < end) {
        poll(NULL, 0, 5);
    }
}

/* The same function waits, whoever calls it: one loop. */
__attribute__((noinline)) static void turns(int n, int ms) {
    struct pollfd p = {.fd = server, .events = POLLIN};
    for (int i = 0; i < n; i++) {
        while (poll(&p, 1, ms) > 0) {
        }
    }
}

__attribute__((noinline)) static void computes(void) {
    for (uint64_t end = now_ms() + HANG_MS; now_ms() < end;) {
    }
}

static void cleans_up(void *unused) {
    (void)unused;
    computes();
    puts("survived");
    fflush(stdout);
}

static void *cancels(void *unused) {
    nap(300);
    pthread_cancel(main_thread);
    nap(HANG_MS + 1000);
    exit(0);
    return unused;
}

static void cancelled(void) {
    pthread_t t;
    pthread_cleanup_push(cleans_up, NULL);
    pthread_create(&t, NULL, cancels, NULL);
    turns(100, 100);
    pthread_cleanup_pop(0);
}

static void leaves_by_context(int signal) {
    (void)signal;
    setcontext(&after_wait);
}

static void *signals(void *unused) {
    nap(300);
    pthread_kill(main_thread, SIGUSR2);
    return unused;
}

static void by_context(void) {
    pthread_t t;
    static volatile int times;
    sigaction(SIGUSR2, &(struct sigaction){.sa_handler = leaves_by_context, .sa_flags = SA_NODEFER}, NULL);
    pthread_create(&t, NULL, signals, NULL);
    getcontext(&after_wait);
    if (times++ == 0) {
        turns(1, 5000);
    }
    computes();
    pthread_join(t, NULL);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(void);
    } all[] = {{"cancelled", cancelled}, {"by-context", by_context}};
    const char *what = argc == 2 ? argv[1] : "";
    main_thread = pthread_self();
    server = listening_socket();
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (strcmp(what, all[i].name) == 0) {
            turns(TURNS, 50);
            all[i].run();
            turns(TURNS, 50);
            puts("survived");
            return 0;
        }
    }
    return 2;
}
