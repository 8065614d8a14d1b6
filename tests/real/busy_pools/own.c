/* SPDX-License-Identifier: MIT
 * A pool of the program's own, with more work than threads. No task takes 500 ms. Each tenth second all
 * threads are free. */
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static unsigned queued, taken;

static void *worker(void *arg) {
    for (;;) {
        pthread_mutex_lock(&mutex);
        while (queued == 0) {
            pthread_cond_wait(&cond, &mutex);
        }
        queued--;
        unsigned n = ++taken;
        pthread_mutex_unlock(&mutex);
        usleep((1 + n % 20) * 10000);
    }
    return arg;
}

int main(int argc, char **argv) {
    time_t start = time(NULL), until = start + atoi(argv[argc - 1]);
    int ends[2];
    struct pollfd set = {.events = POLLIN};
    if (pipe(ends) != 0) {
        return 1;
    }
    set.fd = ends[0];
    for (int i = 0; i < 4; i++) {
        pthread_t t;
        pthread_create(&t, NULL, worker, NULL);
    }
    while (time(NULL) < until) {
        pthread_mutex_lock(&mutex);
        queued = (time(NULL) - start) % 10 < 9 ? 8 : 0;
        pthread_cond_broadcast(&cond);
        pthread_mutex_unlock(&mutex);
        poll(&set, 1, 50);
    }
    return 0;
}
