/* SPDX-License-Identifier: MIT
 *
 * A pool of the program's own. First all its 3 threads do short tasks, some times, and are idle in between.
 * Then argv[1] tasks block in a read of a pipe for argv[3] ms, or 1.2 s; that argv[2] times, or once. If
 * argv[2] is "flows" each task is short, and for 1.2 s there are more tasks than threads. If argv[2] is
 * "device" each task reads a device instead: the threads have left the pool. The loop polls a socket.
 */
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define THREADS 3

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static unsigned task_us = 5000;
static int queued, blocking, is_device, never[2], sockets[2];

__attribute__((noinline)) static void read_archive(void) {
    char bytes[8];
    (void)!read(never[0], bytes, is_device ? 8 : 1);
    __asm__ volatile("");
}

static void *work(void *arg) {
    for (;;) {
        pthread_mutex_lock(&mutex);
        while (queued == 0) {
            pthread_cond_wait(&cond, &mutex);
        }
        queued--;
        int blocks = blocking;
        pthread_mutex_unlock(&mutex);
        if (blocks) {
            read_archive();
        } else {
            usleep(task_us);
        }
    }
    return arg;
}

static void submit(int tasks, int blocks) {
    pthread_mutex_lock(&mutex);
    queued += tasks;
    blocking = blocks;
    pthread_cond_broadcast(&cond);
    pthread_mutex_unlock(&mutex);
}

static void poll_for(int ms) {
    struct pollfd set = {.fd = sockets[0], .events = POLLIN};
    poll(&set, 1, ms);
}

int main(int argc, char **argv) {
    int tasks = argc > 1 ? atoi(argv[1]) : THREADS;
    is_device = argc > 2 && argv[2][0] == 'd';
    if (pipe(never) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0) {
        return 1;
    }
    never[0] = is_device ? eventfd(0, 0) : never[0];
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, work, NULL);
    }
    for (int i = 0; i < 12; i++) {
        submit(THREADS, 0);
        poll_for(250);
    }
    if (is_device) {
        submit(tasks, 1);
        poll_for(1200);
    }
    int flows = argc > 2 && argv[2][0] == 'f', times = argc > 2 ? atoi(argv[2]) : 1;
    task_us = flows ? 60000 : task_us;
    for (int i = 0; flows && i < 24; i++) {
        submit(2 * THREADS, 0);
        poll_for(50);
    }
    for (int i = 0; i < times; i++) {
        submit(tasks, 1);
        poll_for(argc > 3 ? atoi(argv[3]) : 1200);
        (void)!write(never[1], "abc", (size_t)tasks);
        poll_for(300);
    }
    poll_for(flows ? 300 : 1);
    return 0;
}
