/* SPDX-License-Identifier: MIT
 *
 * A program with a loop that hangs for 0.9 s, or crashes, in its ninth turn, and in a bad state: inside
 * malloc, inside dlopen, with stdio's locks, with all signals blocked, with a corrupted heap, at the end of
 * its stack, with 1,000 threads, 1,000 calls deep. It sleeps in the hang, or computes.
 *
 *   bad-state malloc|stdio|signals|heap|stack|threads|depth sleep|compute|crash
 *   bad-state dlopen sleep|crash LIBRARY     whose constructor does so
 */
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define KEPT __attribute__((noinline))
#define EXPORTED __attribute__((visibility("default"), noinline))
#define HANG_NS 900000000LL
#define SPECIAL_SIZE 12345 /* a malloc of it is the one that hangs or crashes inside */

static bool crashes, computes;
static volatile int sink;
static volatile int *volatile nothing = (volatile int *)16;

static long long now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Hangs or crashes. It calls only what may be called in any state. */
KEPT static void happen(void) {
    if (crashes) {
        sink = *nothing;
    }
    for (long long end = now_ns() + HANG_NS; now_ns() < end;) {
        if (!computes) {
            nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        }
    }
    sink++;
}

/* ---- an allocator with one lock ------------------------------------------------------------------ */

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

static volatile int is_locked;

static void pass(void) {
    while (is_locked) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

EXPORTED void *malloc(size_t n) {
    pass();
    if (n == SPECIAL_SIZE) {
        is_locked = 1;
        happen();
        is_locked = 0;
    }
    return __libc_malloc(n);
}

EXPORTED void *calloc(size_t n, size_t size) {
    pass();
    return __libc_calloc(n, size);
}

EXPORTED void *realloc(void *p, size_t n) {
    pass();
    return __libc_realloc(p, n);
}
#endif

/* ---- states --------------------------------------------------------------------------------------- */

KEPT static void in_malloc(void) {
    free(malloc(SPECIAL_SIZE));
    sink++;
}

KEPT static void in_dlopen(const char *library) {
    if (dlopen(library, RTLD_NOW) == NULL) {
        _exit(4);
    }
    sink++;
}

KEPT static void with_stdio_locked(void) {
    flockfile(stdout);
    flockfile(stderr);
    happen();
    funlockfile(stderr);
    funlockfile(stdout);
}

KEPT static void without_signals(void) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    happen();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

KEPT static void with_a_broken_heap(void) {
    char *volatile small = malloc(24);
    memset(small, 'A', 400); /* over the next blocks' heads: an allocation or two, and malloc aborts */
    happen();
    _exit(0); /* as it would at its end */
}

/* Some KiB of the stack are left: room for the calls themselves, and not for what a handler takes. */
KEPT static void at_the_stacks_end(uintptr_t end) {
    volatile char room[1024];
    room[0] = 1;
    if ((uintptr_t)&room[0] > end + 3072) {
        at_the_stacks_end(end);
    } else {
        happen();
    }
    sink = (unsigned char)room[0];
}

static void at_the_end_of_its_stack(void) {
    pthread_attr_t attributes;
    void *end = NULL;
    size_t size = 0;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &end, &size);
    pthread_attr_destroy(&attributes);
    at_the_stacks_end((uintptr_t)end);
}

static void *rest(void *unused) {
    for (;;) {
        pause();
    }
    return unused;
}

static void start_threads(void) {
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 * 1024);
    for (int i = 0; i < 1000; i++) {
        pthread_t thread;
        if (pthread_create(&thread, &small, rest, NULL) != 0) {
            _exit(5);
        }
    }
}

KEPT static void with_many_threads(void) {
    happen();
    sink++;
}

KEPT static void many_calls_deep(int levels) { // NOLINT(misc-no-recursion): meant
    if (levels > 0) {
        many_calls_deep(levels - 1);
    } else {
        happen();
    }
    sink++;
}

KEPT static void handle(char **argv) {
    const char *state = argv[1];
    crashes = strcmp(argv[2], "crash") == 0;
    computes = strcmp(argv[2], "compute") == 0;
    if (strcmp(state, "malloc") == 0) {
        in_malloc();
    } else if (strcmp(state, "dlopen") == 0) {
        in_dlopen(argv[3]);
    } else if (strcmp(state, "stdio") == 0) {
        with_stdio_locked();
    } else if (strcmp(state, "signals") == 0) {
        without_signals();
    } else if (strcmp(state, "heap") == 0) {
        with_a_broken_heap();
    } else if (strcmp(state, "stack") == 0) {
        at_the_end_of_its_stack();
    } else if (strcmp(state, "threads") == 0) {
        with_many_threads();
    } else if (strcmp(state, "depth") == 0) {
        many_calls_deep(1000);
    }
    sink++;
}

int main(int argc, char **argv) {
    if (argc > 2 && strcmp(argv[1], "threads") == 0) {
        start_threads();
    }
    int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    struct itimerspec every = {.it_interval = {0, 50000000}, .it_value = {0, 50000000}};
    timerfd_settime(timer, 0, &every, NULL);
    for (int turn = 0; turn < 16; turn++) {
        struct pollfd wait = {.fd = timer, .events = POLLIN};
        uint64_t times;
        if (poll(&wait, 1, -1) == 1 && read(timer, &times, sizeof times) > 0 && turn == 8 && argc > 2) {
            handle(argv);
        }
    }
    return 0;
}
