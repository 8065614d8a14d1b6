/* SPDX-License-Identifier: MIT
 *
 * A loop of GLib's whose callback connects a socket, in the course of which GLib calls the program back: that
 * waits for a lock of the program's own. No headers are needed to build it.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void *g_main_loop_new(void *context, int running);
void g_main_loop_run(void *loop);
void g_main_loop_quit(void *loop);
unsigned g_timeout_add(unsigned ms, int (*call)(void *), void *data);
void *g_socket_client_new(void);
void *g_socket_client_connect_to_host(void *client, const char *host, unsigned short port, void *cancellable,
                                      void **error);
unsigned long g_signal_connect_data(void *object, const char *signal, void (*call)(void), void *data,
                                    void (*destroy)(void *, void *), int flags);
void g_object_unref(void *object);
#define G_SOCKET_CLIENT_CONNECTING 2

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done = PTHREAD_COND_INITIALIZER;
static int is_done;
static FILE *marks;

static void note(const char *kind, const char *state, const char *name) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    fprintf(marks, "%lld%09ld %s %s %s\n", (long long)now.tv_sec, now.tv_nsec, kind, state, name);
    fflush(marks);
}

static void *work(void *unused) {
    nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL);
    pthread_mutex_lock(&lock);
    is_done = 1;
    pthread_cond_signal(&done);
    pthread_mutex_unlock(&lock);
    return unused;
}

static void on_event(void *client, int event, void *connectable, void *connection, void *data) {
    pthread_t worker;
    (void)client, (void)connectable, (void)connection, (void)data;
    if (event != G_SOCKET_CLIENT_CONNECTING) {
        return;
    }
    note("begin", "busy", "thread-below-connect");
    pthread_create(&worker, NULL, work, NULL);
    pthread_mutex_lock(&lock);
    for (is_done = 0; !is_done;) {
        pthread_cond_wait(&done, &lock);
    }
    pthread_mutex_unlock(&lock);
    pthread_join(worker, NULL);
    note("end", "busy", "thread-below-connect");
}

static int tick(void *loop) {
    static int ticks;
    if (++ticks % 30 == 20) {
        void *client = g_socket_client_new();
        g_signal_connect_data(client, "event", (void (*)(void))on_event, NULL, NULL, 0);
        g_socket_client_connect_to_host(client, "127.0.0.1", 9, NULL, NULL);
        g_object_unref(client);
    }
    if (ticks == 90) {
        g_main_loop_quit(loop);
    }
    return 1;
}

int main(void) {
    marks = fopen(getenv("HANGDOG_MARKS"), "a");
    if (marks == NULL) {
        return 2;
    }
    void *loop = g_main_loop_new(NULL, 0);
    g_timeout_add(20, tick, loop);
    note("from", "idle", "-");
    g_main_loop_run(loop);
    return 0;
}
