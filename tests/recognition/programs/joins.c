/* SPDX-License-Identifier: MIT
 *
 * A callback, called by the loop's own function, that waits for a thread to end: in a futex, hardly deeper
 * than the loop's wait by its epoll instance, as who waits for its turn in a pool. Nobody else serves it.
 */
#include <pthread.h>
#include <stdlib.h>

#include "made.h"

static void *work(void *ms) {
    nanosleep(&(struct timespec){.tv_nsec = (int)(intptr_t)ms * 1000000L}, NULL);
    return NULL;
}

__attribute__((noinline)) static void join(int ms) {
    pthread_t thread;
    note("begin", "busy");
    pthread_create(&thread, NULL, work, (void *)(intptr_t)ms);
    pthread_join(thread, NULL);
    note("end", "busy");
}

int main(void) {
    const char *file = getenv("HANGDOG_MARKS");
    int ep = instance();
    marks = open(file != NULL ? file : "/dev/null", O_WRONLY | O_APPEND | O_CLOEXEC);
    turns(ep, 32, 150, join, 300);
    return 0;
}
