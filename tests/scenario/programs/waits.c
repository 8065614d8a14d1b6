/* SPDX-License-Identifier: MIT
 *
 * Waits by poll, in functions and on threads that tests name: waits PLAN [NAME:PLAN]... The first plan is
 * the main thread's, each other one of a thread of that name, which its maker gives it once it waits. Steps,
 * divided by spaces, are a letter and tenths of a second: w: turns of wait_for_events of 0.1 s each; a: one
 * call of send_request; q: so many calls of it, of 30 ms, from further down; s: sleeps; and nNAME: the thread
 * names itself.
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "listening.h"

/* Functions that stay what they are: not inlined, not cloned, not folded into one. */
#ifdef __clang__
#define WHOLE __attribute__((noinline))
#else
#define WHOLE __attribute__((noinline, noclone))
#endif

static WHOLE void wait_for_events(struct pollfd *fd, int ms) {
    poll(fd, 1, ms);
    __asm__ volatile("# events" ::: "memory");
}

static WHOLE void send_request(struct pollfd *fd, int ms) {
    poll(fd, 1, ms);
    __asm__ volatile("# an answer" ::: "memory");
}

static WHOLE void ask_from_further_down(struct pollfd *fd, int frames) {
    if (frames > 0) {
        ask_from_further_down(fd, frames - 1);
    } else {
        send_request(fd, 30);
    }
    __asm__ volatile("" ::: "memory");
}

static WHOLE void block(int ms) {
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL);
    __asm__ volatile("" ::: "memory");
}

/* A loop of its own, on a listening socket, and a pipe that it asks. */
static void work(char *plan) {
    int events = listening_socket(), answers[2];
    char *rest;
    if (events < 0 || pipe(answers) != 0) {
        return;
    }
    struct pollfd loop = {.fd = events, .events = POLLIN}, peer = {.fd = answers[0], .events = POLLIN};
    for (char *step = strtok_r(plan, " ", &rest); step != NULL; step = strtok_r(NULL, " ", &rest)) {
        int tenths = atoi(step + 1);
        for (int i = 0; *step == 'w' && i < tenths; i++) {
            wait_for_events(&loop, 100);
        }
        for (int i = 0; *step == 'q' && i < tenths; i++) {
            ask_from_further_down(&peer, 10);
        }
        if (*step == 'a') {
            send_request(&peer, 100 * tenths);
        } else if (*step == 's') {
            block(100 * tenths);
        } else if (*step == 'n') {
            pthread_setname_np(pthread_self(), step + 1);
        }
    }
}

static void *run(void *plan) {
    work(plan);
    return NULL;
}

int main(int argc, char **argv) {
    pthread_t thread[16];
    int count = argc - 2 < 16 ? argc - 2 : 16;
    for (int i = 0; i < count; i++) {
        char *colon = strchr(argv[i + 2], ':');
        pthread_create(&thread[i], NULL, run, colon + 1);
        *colon = '\0';
        if (argv[i + 2][0] != '\0') {
            usleep(20000);
            pthread_setname_np(thread[i], argv[i + 2]);
        }
    }
    if (argc > 1) {
        work(argv[1]);
    }
    for (int i = 0; i < count; i++) {
        pthread_join(thread[i], NULL);
    }
    printf("done\n");
    return 3;
}
