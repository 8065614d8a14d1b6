/* SPDX-License-Identifier: MIT
 *
 * A hang in a program with 256 threads: the report has the stack of each, and no thread is suspended for
 * long.
 */
#include <pthread.h>

#include "watched.h"

#define OTHERS 255

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int ended;

__attribute__((noinline)) static void wait_for_end(void) {
    pthread_mutex_lock(&mutex);
    while (!ended) {
        pthread_cond_wait(&changed, &mutex);
    }
    pthread_mutex_unlock(&mutex);
}

static void *work(void *arg) {
    char name[32];
    snprintf(name, sizeof name, "worker %d", (int)(intptr_t)arg);
    pthread_setname_np(name);
    wait_for_end();
    return arg;
}

__attribute__((noinline)) static void hang(unsigned ms) {
    spin_ms(ms);
    __asm__ volatile("");
}

int main(int argc, char **argv) {
    (void)argc;
    pthread_t threads[OTHERS];
    hangdog_options o = {0};
    watched_start("threads", argv[1], &o);
    for (int i = 0; i < OTHERS - 2; i++) { /* the library has two */
        CHECK_EQUAL(0, pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i));
    }
    nap_ms(200);
    watched_turn(hang, 1200);
    pthread_mutex_lock(&mutex);
    ended = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < OTHERS - 2; i++) {
        pthread_join(threads[i], NULL);
    }
    hangdog_totals totals = {.size = sizeof totals};
    hangdog_stats(&totals);
    printf("%llu samples, the longest pause %llu us\n", totals.samples, totals.pause_max_ns / 1000);
    watched_stop();
    check_violations();
    return failed_checks ? 1 : 0;
}
