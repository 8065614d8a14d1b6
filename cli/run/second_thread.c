/* SPDX-License-Identifier: MIT */
#include "cli/run/second_thread.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cli/base/deep_stack.h"
#include "cli/base/output.h"
#include "os/os.h"

#define STACK_BYTES (2u * 1024 * 1024)

/* When the program has ended: since then, or since the call began. */
#define ASKED_NS (2 * HD_NS_PER_S)
#define PATIENCE_NS (60 * HD_NS_PER_S) /* or since we said something */
#define UNREAD_NS (5 * HD_NS_PER_S)    /* or since a reader took the last piece of what we say */
#define LOOK_MS 100

struct work {
    void (*call)(void *);
    void *argument;
    int done_fd;
};

static void do_it(void *work) {
    struct work w = *(struct work *)work;
    free(work);
    w.call(w.argument);
    eventfd_write(w.done_fd, 1);
}

/* Debug information may lie on a server that does not answer, and nobody waits for us for ever. A signal may
 * be the program's that has ended by it: who ends all of a group or a service sends it to one after the
 * other. */
static bool is_too_long(struct runner *r, uint64_t begun_ns) {
    uint64_t now = hd_os_now_ns(), from = begun_ns > r->run.ended_ns ? begun_ns : r->run.ended_ns;
    bool saying;
    uint64_t said = say_last_ns(&saying), since = said > from ? said : from;
    if (runner_asked_to_end(r)) {
        return now >= from + ASKED_NS;
    }
    return now >= since + (saying ? UNREAD_NS : PATIENCE_NS); /* who reads slowly is waited for */
}

/* Until it is done; false: it is left. */
static bool wait_for(struct runner *r, int done_fd) {
    struct pollfd fds[] = {{.fd = done_fd, .events = POLLIN}, {.fd = r->signal_fd, .events = POLLIN}};
    uint64_t begun_ns = hd_os_now_ns();
    for (;;) {
        if (poll(fds, 2, r->ended ? LOOK_MS : -1) > 0 && fds[1].revents != 0) {
            runner_handle_signals(r);
        }
        if (fds[0].revents != 0) {
            return true;
        }
        if (r->ended && is_too_long(r, begun_ns)) {
            return false;
        }
    }
}

/* False: there is no thread. */
static bool start(pthread_t *thread, struct work what) {
    struct work *w = malloc(sizeof *w); /* the thread's: it may be left */
    if (w == NULL) {
        return false;
    }
    *w = what;
    bool started = thread_start(thread, STACK_BYTES, do_it, w);
    if (!started) {
        free(w);
    }
    return started;
}

bool on_second_thread(struct runner *r, void (*call)(void *), void *argument) {
    int done_fd = eventfd(0, EFD_CLOEXEC);
    pthread_t thread;
    bool done = true;
    if (done_fd < 0 || !start(&thread, (struct work){call, argument, done_fd})) {
        call(argument); /* late signals are better than no report */
    } else if ((done = wait_for(r, done_fd))) {
        pthread_join(thread, NULL);
    }
    if (done_fd >= 0 && done) { /* else it is still the thread's */
        close(done_fd);
    }
    return done;
}
