/* SPDX-License-Identifier: MIT
 *
 * A crash by a signal: `segv` or `abort`, on the main thread or on another (`thread`). With `mach` the
 * library receives Mach exceptions, and a handler of the program ends it after the report.
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

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

static void end_with_answers(int number) {
    int is_taken = 1;
    int (*answered)(int *) = (int (*)(int *))fake("fake_exceptions");
    bool is_right = !answered || (answered(&is_taken) == 1 && !is_taken); /* a Mac has no such count */
    _exit(number == SIGSEGV && is_right ? 21 : 22);
}

int main(int argc, char **argv) {
    pthread_t thread;
    bool mach = !strcmp(argv[argc - 1], "mach");
    hangdog_options o = {.crash = mach ? 2 : 1};
    how = argv[2];
    if (mach) {
        signal(SIGSEGV, end_with_answers);
        argc--;
    }
    watched_start("crash", argv[1], &o);
    if (argc > 3) {
        pthread_create(&thread, NULL, work, NULL);
        pthread_join(thread, NULL);
    }
    watched_turn(crash, 0);
    return 0;
}
