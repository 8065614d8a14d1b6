/* SPDX-License-Identifier: MIT
 *
 * Ordinary code: a second thread for what may take long, while the first one has the signals, or goes deep.
 */
#include "cli/beside.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Of the thread, whatever limit there is: that one was set for the program, and ours may be all of it. */
#define STACK_BYTES (8u * 1024 * 1024)

struct work {
    void (*call)(void *);
    void *argument;
    int done_fd; /* -1: the end of the thread tells */
};

static void *do_it(void *work) {
    const struct work *w = work;
    w->call(w->argument);
    if (w->done_fd >= 0) {
        eventfd_write(w->done_fd, 1);
    }
    return NULL;
}

static bool start(pthread_t *thread, struct work *w) {
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0) {
        return false;
    }
    bool started = pthread_attr_setstacksize(&attributes, STACK_BYTES) == 0 &&
                   pthread_create(thread, &attributes, do_it, w) == 0;
    pthread_attr_destroy(&attributes);
    return started;
}

void beside(struct runner *r, void (*call)(void *), void *argument) {
    struct work w = {call, argument, eventfd(0, EFD_CLOEXEC)};
    struct pollfd fds[] = {{.fd = w.done_fd, .events = POLLIN}, {.fd = r->signal_fd, .events = POLLIN}};
    pthread_t thread;
    if (w.done_fd < 0 || !start(&thread, &w)) {
        call(argument); /* late signals are better than nothing told */
    } else {
        while (fds[0].revents == 0) {
            fds[1].fd = r->ended ? -1 : r->signal_fd; /* then they are for who asks for them */
            if (poll(fds, 2, -1) > 0 && fds[1].revents != 0) {
                runner_handle_signals(r);
            }
        }
        pthread_join(thread, NULL);
    }
    if (w.done_fd >= 0) {
        close(w.done_fd);
    }
}

void on_a_deep_stack(void (*call)(void *), void *argument) {
    struct work w = {call, argument, -1};
    pthread_t thread;
    if (start(&thread, &w)) {
        pthread_join(thread, NULL);
    } else {
        call(argument); /* what there is may be enough */
    }
}
