/* SPDX-License-Identifier: MIT
 *
 * The main thread waits for a lock. `owner`: a worker has it for 700 ms. `ring`: the worker waits for a lock
 * that the main thread has. Second argument: `unfair` for os_unfair_lock, else a pthread mutex.
 */
#include <os/lock.h>
#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

#include "watched.h"

static os_unfair_lock unfair[2] = {OS_UNFAIR_LOCK_INIT, OS_UNFAIR_LOCK_INIT};
static pthread_mutex_t mutex[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static bool is_unfair, is_ring;
static volatile int worker_has_lock;

static void take(int which) {
    if (is_unfair) {
        os_unfair_lock_lock(&unfair[which]);
    } else {
        pthread_mutex_lock(&mutex[which]);
    }
}

static void give(int which) {
    if (is_unfair) {
        os_unfair_lock_unlock(&unfair[which]);
    } else {
        pthread_mutex_unlock(&mutex[which]);
    }
}

__attribute__((noinline)) static void keep_lock(void) {
    nap_ms(750);
    __asm__ volatile("");
}

__attribute__((noinline)) static void close_ring(void) {
    take(0);
    give(0);
}

static void *work(void *arg) {
    pthread_setname_np("lock owner");
    take(1);
    worker_has_lock = 1;
    if (is_ring) {
        nap_ms(100);
        close_ring();
    } else {
        keep_lock();
    }
    give(1);
    return arg;
}

__attribute__((noinline)) static void need_lock(unsigned unused) {
    (void)unused;
    take(1);
    give(1);
}

/* A ring never ends: the process does, once the report is there. */
static void *end_of_ring(void *arg) {
    nap_ms(1500);
    check_violations();
    _exit(failed_checks ? 1 : 0);
    return arg;
}

int main(int argc, char **argv) {
    CHECK_EQUAL(4, argc);
    is_ring = !strcmp(argv[2], "ring");
    is_unfair = !strcmp(argv[3], "unfair");
    hangdog_options o = {0};
    pthread_t worker, clock;
    watched_start("lock", argv[1], &o);
    if (is_ring) {
        take(0);
        pthread_create(&clock, NULL, end_of_ring, NULL);
    }
    pthread_create(&worker, NULL, work, NULL);
    while (!worker_has_lock) {
        nap_ms(1);
    }
    watched_turn(need_lock, 0);
    pthread_join(worker, NULL);
    watched_stop();
    check_violations();
    return failed_checks ? 1 : 0;
}
