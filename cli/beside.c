/* SPDX-License-Identifier: MIT
 *
 * Ordinary code: a second thread for what may take long, while the first one has the signals.
 */
#include "cli/beside.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct work {
    void (*call)(void *);
    void *argument;
    int done_fd;
};

static void *do_it(void *work) {
    const struct work *w = work;
    w->call(w->argument);
    eventfd_write(w->done_fd, 1);
    return NULL;
}

void beside(struct runner *r, void (*call)(void *), void *argument) {
    struct work w = {call, argument, eventfd(0, EFD_CLOEXEC)};
    struct pollfd fds[] = {{.fd = w.done_fd, .events = POLLIN}, {.fd = r->signal_fd, .events = POLLIN}};
    pthread_t thread;
    if (w.done_fd < 0 || pthread_create(&thread, NULL, do_it, &w) != 0) {
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
