/* SPDX-License-Identifier: MIT
 *
 * A program with a loop that crashes in the way that its argument names, in its ninth turn.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static volatile int sink;

__attribute__((noinline)) static void read_nothing(volatile int *at) {
    sink = *at;
    sink++;
}

__attribute__((noinline)) static int recurse(int depth) {
    volatile char room[1024];
    room[0] = (char)depth;
    return depth != 0 ? recurse(depth + 1) + room[0] : 0;
}

static void *crash_here(void *unused) {
    (void)unused;
    read_nothing((volatile int *)16);
    return NULL;
}

__attribute__((noinline)) static void divide(volatile int *by) {
    sink = 7 / *by; // NOLINT(clang-analyzer-core.DivideZero): meant
}

__attribute__((noinline)) static void break_heap(void) {
    char *small = malloc(24);
    memset(small, 'A', 400);
    free(malloc(100));
    free(small);
    free(malloc(5000));
    abort();
}

__attribute__((noinline)) static void handle(const char *how) {
    static volatile int zero;
    void (*volatile nothing)(void) = NULL;
    if (strcmp(how, "null") == 0) {
        read_nothing((volatile int *)16);
    } else if (strcmp(how, "abort") == 0) {
        abort();
    } else if (strcmp(how, "divide") == 0) {
        divide(&zero);
    } else if (strcmp(how, "overflow") == 0) {
        sink = recurse(1);
    } else if (strcmp(how, "call") == 0) {
        nothing(); // NOLINT(clang-analyzer-core.CallAndMessage): meant
    } else if (strcmp(how, "raise") == 0) {
        raise(SIGSEGV);
    } else if (strcmp(how, "illegal") == 0) {
        __builtin_trap();
    } else if (strcmp(how, "breakpoint") == 0) {
        raise(SIGTRAP);
    } else if (strcmp(how, "heap") == 0) {
        break_heap();
    } else if (strcmp(how, "thread") == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, crash_here, NULL);
        pthread_join(thread, NULL);
    } else if (strcmp(how, "hang") == 0) {
        nanosleep(&(struct timespec){.tv_sec = 1, .tv_nsec = 500000000}, NULL);
        read_nothing((volatile int *)24);
    } else if (strcmp(how, "fork") == 0) {
        if (fork() == 0) {
            abort();
        }
    } else if (strncmp(how, "vfork", 5) == 0) {
        if (vfork() == 0) {     // NOLINT(clang-analyzer-security.insecureAPI.vfork): meant
            read_nothing(NULL); // NOLINT(clang-analyzer-unix.Vfork): meant
            _exit(1);
        }
        if (strcmp(how, "vfork-both") == 0) {
            read_nothing((volatile int *)24);
        }
    } else if (strcmp(how, "end") == 0) {
        exit(0);
    }
    sink++; /* so that none of these is a tail call */
}

int main(int argc, char **argv) {
    int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    struct itimerspec every = {.it_interval = {0, 50000000}, .it_value = {0, 50000000}};
    timerfd_settime(timer, 0, &every, NULL);
    for (int turn = 0; turn < 20; turn++) {
        struct pollfd wait = {.fd = timer, .events = POLLIN};
        uint64_t times;
        if (poll(&wait, 1, -1) == 1 && read(timer, &times, sizeof times) > 0 && turn == 8 && argc > 1) {
            handle(argv[1]);
        }
    }
    return 0;
}
