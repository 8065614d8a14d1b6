/* SPDX-License-Identifier: MIT
 *
 * The main thread waits for 700 ms in one call. First argument after the spool: `join` for the end of a
 * thread, `sleep` for a time, `pipe` for a byte of another thread.
 */
#include <pthread.h>
#include <unistd.h>

#include "watched.h"

#define WAIT_MS 700

static const char *mode;
static int ends[2];
static volatile int has_started;

static void *work(void *arg) {
    uint64_t id = 0;
    pthread_threadid_np(NULL, &id);
    printf("worker %llu\n", id);
    fflush(stdout);
    has_started = 1;
    nap_ms(WAIT_MS);
    CHECK_EQUAL(1, write(ends[1], "x", 1));
    return arg;
}

__attribute__((noinline)) static void wait_once(unsigned unused) {
    pthread_t worker;
    char byte;
    (void)unused;
    CHECK_EQUAL(0, pthread_create(&worker, NULL, work, NULL));
    while (!has_started) {
        nap_ms(1);
    }
    if (!strcmp(mode, "sleep")) {
        nap_ms(WAIT_MS);
    } else if (!strcmp(mode, "pipe")) {
        CHECK_EQUAL(1, read(ends[0], &byte, 1));
    }
    pthread_join(worker, NULL);
}

int main(int argc, char **argv) {
    CHECK_EQUAL(3, argc);
    mode = argv[2];
    CHECK_EQUAL(0, pipe(ends));
    hangdog_options o = {0};
    watched_start("waits", argv[1], &o);
    watched_turn(wait_once, 0);
    watched_stop();
    check_violations();
    return failed_checks ? 1 : 0;
}
