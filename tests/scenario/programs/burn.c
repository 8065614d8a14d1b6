/* SPDX-License-Identifier: MIT
 *
 * A loop that is idle, or whose short turns fill a CPU, and threads that compute: `burn
 * main|thread|waits|burst SECONDS`; `burn crowd SECONDS` has 80 threads and hangs for 800 ms; hang,
 * short and quit have a hang too: until the end, of 1.1 s, and after SIGTERM.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000ULL

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 * MS + (uint64_t)t.tv_nsec;
}

__attribute__((noinline)) static void compute(uint64_t until_ns) {
    static volatile uint64_t sum;
    while (now_ns() < until_ns) {
        for (unsigned i = 0; i < 1000; i++) {
            sum = sum + i;
        }
    }
}

static void *crunch(void *until_ns) {
    prctl(PR_SET_NAME, "cruncher", 0, 0, 0);
    compute(*(uint64_t *)until_ns);
    return NULL;
}

/* Computes for 9 ms of 10. */
__attribute__((noinline)) static void *crunch_and_wait(void *until_ns) {
    prctl(PR_SET_NAME, "half-cruncher", 0, 0, 0);
    while (now_ns() < *(uint64_t *)until_ns) {
        compute(now_ns() + 9 * MS);
        usleep(500);
    }
    return NULL;
}

/* So many wait for work that never comes, and the loop hangs once. */
static void *wait_for_work(void *name) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
    prctl(PR_SET_NAME, name, 0, 0, 0);
    pthread_mutex_lock(&mutex);
    while (name != NULL) {
        pthread_cond_wait(&work, &mutex);
    }
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static void crowd(void) {
    static char name[80][16];
    pthread_t thread;
    for (unsigned i = 0; i < 80; i++) {
        snprintf(name[i], sizeof name[i], "worker-%u", i);
        pthread_create(&thread, NULL, wait_for_work, name[i]);
    }
}

/* A timer is in the set: the loop is known from its first wait. */
static void loop(uint64_t until_ns, uint64_t turn_ns) {
    static int timer = -1;
    timer = timer < 0 ? timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC) : timer;
    struct itimerspec often = {.it_interval.tv_nsec = 20 * MS, .it_value.tv_nsec = MS};
    struct pollfd set = {.fd = timer, .events = POLLIN};
    uint64_t times;
    timerfd_settime(timer, 0, &often, NULL);
    while (now_ns() < until_ns) {
        poll(&set, 1, -1);
        if (read(timer, &times, sizeof times) < 0) {
            perror("read");
        }
        compute(now_ns() + turn_ns);
    }
}

static volatile sig_atomic_t ends;

static void note_end(int signal) {
    (void)signal;
    ends = 1;
}

/* Ends by SIGTERM: after a short block, which is no hang then, and a long one. */
static void quit(void) {
    signal(SIGTERM, note_end);
    puts("ready");
    fflush(stdout);
    while (!ends) {
        loop(now_ns() + 100 * MS, 0);
    }
    compute(now_ns() + 700 * MS);
    loop(now_ns() + 200 * MS, 0);
    compute(now_ns() + 3300 * MS);
    loop(now_ns() + 200 * MS, 0);
}

int main(int argc, char **argv) {
    const char *how = argc > 2 ? argv[1] : "";
    uint64_t until_ns = now_ns() + (uint64_t)(argc > 2 ? strtod(argv[2], NULL) * 1000 : 0) * MS;
    pthread_t thread;
    if (strcmp(how, "thread") == 0) {
        pthread_create(&thread, NULL, crunch, &until_ns);
    } else if (strcmp(how, "waits") == 0) {
        pthread_create(&thread, NULL, crunch_and_wait, &until_ns);
    } else if (strcmp(how, "burst") == 0) {
        uint64_t end_ns = now_ns() + 250 * MS;
        pthread_create(&thread, NULL, crunch, &end_ns);
        pthread_join(thread, NULL);
    }
    if (strcmp(how, "crowd") == 0) {
        crowd();
        loop(now_ns() + 300 * MS, 0);
        compute(now_ns() + 800 * MS);
    }
    if (strcmp(how, "hang") == 0 || strcmp(how, "short") == 0) {
        loop(now_ns() + 600 * MS, 0);
        compute(how[0] == 'h' ? until_ns : now_ns() + 1100 * MS);
    } else if (strcmp(how, "quit") == 0) {
        quit();
        return 0;
    }
    loop(until_ns, strcmp(how, "main") == 0 ? 19 * MS : 0);
    return 0;
}
