/* SPDX-License-Identifier: MIT
 *
 * What a program of the tests does: its arguments are how long its loop waits and how long a callback blocks,
 * in turn. `500 sleep:2000 300` waits 500 ms, sleeps for 2 s in the callback, waits 300 ms and ends. A block
 * without an end is `sleep:forever`. The program prints `freezes` before each block and its length after it:
 * `froze NANOSECONDS`.
 *
 * The programs declare what they use of a library: its headers need not be installed.
 */
#ifndef SCHEDULE_H
#define SCHEDULE_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STALL_BY_SLEEP block_in_sleep
#define STALL_BY_COMPUTE block_in_compute
#include "../stalls.h"

static char **next_step;
static pthread_mutex_t other_threads_mutex = PTHREAD_MUTEX_INITIALIZER;

/* Reads a pipe to which the program never writes. */
__attribute__((noinline)) static void block_in_read(long long ns) {
    int ends[2];
    char byte;
    (void)ns;
    if (pipe(ends) != 0 || read(ends[0], &byte, 1) < 0) {
        perror("pipe");
    }
}

static void *take_mutex_and_wait(void *taken) {
    pthread_mutex_lock(&other_threads_mutex);
    *(volatile int *)taken = 1;
    for (;;) {
        pause();
    }
    return NULL;
}

__attribute__((noinline)) static void block_in_lock(long long ns) {
    static volatile int taken;
    pthread_t other;
    (void)ns;
    pthread_create(&other, NULL, take_mutex_and_wait, (void *)&taken);
    while (!taken) {
        usleep(1000);
    }
    pthread_mutex_lock(&other_threads_mutex);
}

static void block(const char *step) {
    static const struct {
        const char *name;
        void (*call)(long long ns);
    } kinds[] = {{"sleep:", block_in_sleep},
                 {"compute:", block_in_compute},
                 {"read:", block_in_read},
                 {"lock:", block_in_lock}};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        size_t length = strlen(kinds[i].name);
        if (strncmp(step, kinds[i].name, length) == 0) {
            int for_ever = strcmp(step + length, "forever") == 0;
            long long begin = monotonic_ns();
            puts("freezes");
            fflush(stdout);
            kinds[i].call(for_ever ? 1000000000000LL : atoi(step + length) * 1000000LL);
            printf("froze %lld\n", monotonic_ns() - begin);
            fflush(stdout);
            return;
        }
    }
    fprintf(stderr, "no such step: %s\n", step);
    exit(2);
}

/* How long the loop waits first, in ms. */
static int first_wait_ms(char **argv) {
    next_step = argv + 2;
    return atoi(argv[1]);
}

/* One callback: blocks as the schedule says. How long the loop waits then, in ms; -1: the program ends. */
static int run_callback(void) {
    if (!*next_step) {
        return -1;
    }
    block(*next_step++);
    return *next_step ? atoi(*next_step++) : -1;
}

#endif
