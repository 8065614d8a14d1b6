/* SPDX-License-Identifier: MIT
 *
 * A random graph of locks, by a seed: 2 to 8 threads own 1 to 8 mutexes and read-write locks and wait for
 * each other's. The main thread's loop, which the library watches, waits for one of them and hangs. Before
 * that the program prints who waits for whom: the numbers of the threads, and for each the number of the
 * thread that it waits for, or 0. It ends when it is killed.
 *
 *   lock-graph SPOOL SEED
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hangdog/hangdog.h"

#define MOST 8
#define NONE (-1)
#define READ_WRITE (-2) /* next to the types of a mutex */

static uint64_t state;
static unsigned threads, mutexes;
static int owner[MOST], wanted[MOST]; /* of a mutex, its thread; of a thread, its mutex */
static int type[MOST];
static pthread_mutex_t mutex[MOST];
static pthread_rwlock_t rwlock[MOST]; /* in place of the mutex where the type is READ_WRITE */
static pthread_barrier_t all_locked;
static _Atomic int tid[MOST], goes[MOST];

static unsigned below(unsigned limit) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(state >> 33) % limit;
}

/* ---- the graph -------------------------------------------------------------------------------- */

static void make_lock(unsigned m) {
    static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK,
                                READ_WRITE};
    pthread_mutexattr_t attributes;
    type[m] = types[below(4)];
    if (type[m] == READ_WRITE) {
        pthread_rwlock_init(&rwlock[m], NULL);
        return;
    }
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, type[m]);
    pthread_mutex_init(&mutex[m], &attributes);
}

/* A mutex that the thread will wait for, or none. For one of its own it waits where that has no other answer.
 */
static int locked_mutex(unsigned thread) {
    int found[MOST];
    unsigned count = 0;
    for (unsigned m = 0; m < mutexes; m++) {
        if (owner[m] != NONE && (owner[m] != (int)thread || type[m] == PTHREAD_MUTEX_NORMAL)) {
            found[count++] = (int)m;
        }
    }
    return count != 0 ? found[below(count)] : NONE;
}

/* In each second graph threads wait for their neighbours: chains and rings are long in it. */
static int neighbours_mutex(unsigned thread) {
    unsigned m = (thread + 1) % threads;
    return m < mutexes && owner[m] != (int)thread ? (int)m : locked_mutex(thread);
}

static void make_graph(uint64_t seed) {
    state = seed * 0x9e3779b97f4a7c15 + 1;
    for (unsigned i = 0; i < 8; i++) {
        below(2);
    }
    threads = 2 + below(MOST - 1);
    mutexes = 1 + below(MOST);
    for (unsigned m = 0; m < mutexes; m++) {
        make_lock(m);
        owner[m] = below(5) == 0 ? NONE : (int)below(threads);
        owner[m] = seed % 2 == 0 ? (int)(m % threads) : owner[m];
    }
    if (seed % 2 != 0 || mutexes == 1) {
        owner[0] = 1 + (int)below(threads - 1); /* so that the main thread can wait */
    }
    for (unsigned i = 0; i < threads; i++) {
        bool waits = i == 0 || below(seed % 2 != 0 ? 4 : 16) != 0;
        wanted[i] = !waits ? NONE : seed % 2 != 0 ? locked_mutex(i) : neighbours_mutex(i);
    }
}

/* ---- its threads ------------------------------------------------------------------------------ */

static void lock_own(unsigned thread) {
    tid[thread] = gettid();
    for (unsigned m = 0; m < mutexes; m++) {
        if (owner[m] == (int)thread && type[m] == READ_WRITE) {
            pthread_rwlock_wrlock(&rwlock[m]);
        } else if (owner[m] == (int)thread) {
            pthread_mutex_lock(&mutex[m]);
        }
    }
    pthread_barrier_wait(&all_locked);
}

__attribute__((noinline)) static void lock_wanted(unsigned thread) {
    int m = wanted[thread];
    if (type[m] != READ_WRITE) {
        pthread_mutex_lock(&mutex[m]);
    } else if (thread % 2 != 0) {
        pthread_rwlock_rdlock(&rwlock[m]);
    } else {
        pthread_rwlock_wrlock(&rwlock[m]);
    }
    __asm__ volatile("");
}

static void *run_thread(void *argument) {
    unsigned thread = (unsigned)(uintptr_t)argument;
    lock_own(thread);
    goes[thread] = 1;
    if (wanted[thread] != NONE) {
        lock_wanted(thread);
    }
    for (;;) {
        pause();
    }
    return NULL;
}

static int sleeps(int thread_id) {
    char path[64], text[256] = {0};
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread_id);
    int file = open(path, O_RDONLY);
    (void)!read(file, text, sizeof text - 1);
    close(file);
    const char *behind = strrchr(text, ')');
    return behind != NULL && behind[2] == 'S';
}

static void print_truth(void) {
    for (unsigned i = 0; i < threads; i++) {
        printf("%d %d\n", tid[i], wanted[i] != NONE ? tid[owner[wanted[i]]] : 0);
    }
    puts("ready");
    fflush(stdout);
}

int main(int argc, char **argv) {
    hangdog_options options = {
        .size = sizeof options, .spool = argc == 3 ? argv[1] : NULL, .interval_ns = 20000000};
    for (int i = 0; i < HANGDOG_STATES; i++) {
        options.threshold_ns[i] = 200000000;
    }
    if (argc != 3 || hangdog_start(&options) != 0) {
        return 1;
    }
    hangdog_loop *loop = hangdog_loop_watch("main", 0);
    hangdog_before_wait(loop);
    make_graph(strtoul(argv[2], NULL, 10));
    pthread_barrier_init(&all_locked, NULL, threads);
    for (unsigned i = 1; i < threads; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, run_thread, (void *)(uintptr_t)i) != 0) {
            return 1;
        }
    }
    lock_own(0);
    for (unsigned i = 1; i < threads; i++) {
        while (!goes[i] || !sleeps(tid[i])) {
            usleep(1000);
        }
    }
    print_truth();
    hangdog_after_wait(loop);
    lock_wanted(0);
    return 2;
}
