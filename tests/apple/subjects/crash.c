/* SPDX-License-Identifier: MIT
 *
 * A crash by a signal: `segv` or `abort`, on the main thread or on another (`thread`).
 */
#include <pthread.h>
#include <stdlib.h>

#include "watched.h"

static const char *how;

__attribute__((noinline)) static int read_bad_address(const volatile int *p) {
    return *p + 1;
}

__attribute__((noinline)) static void give_up(void) {
    abort();
}

static void crash(unsigned unused) {
    (void)unused;
    if (!strcmp(how, "segv")) {
        printf("%d\n", read_bad_address((const volatile int *)0x4010));
    }
    give_up();
}

static void *work(void *arg) {
    crash(0);
    return arg;
}

int main(int argc, char **argv) {
    pthread_t thread;
    hangdog_options o = {.crash = 1};
    how = argv[2];
    watched_start("crash", argv[1], &o);
    if (argc > 3) {
        pthread_create(&thread, NULL, work, NULL);
        pthread_join(thread, NULL);
    }
    watched_turn(crash, 0);
    return 0;
}
