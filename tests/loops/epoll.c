/* SPDX-License-Identifier: MIT
 *
 * A hand-written loop on epoll, by hangdog/epoll.h.
 */
#include "hangdog/epoll.h"

#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "loops.h"

const char *const loop_never_nests = NULL;

struct source {
    struct call call;
    int fd;
    bool once;
};

struct loop {
    hangdog_loop *watch;
    int epoll_fd;
    bool quits;
    struct call idle;
    struct source *input;
};

struct loop *loop_make(const char *name) {
    struct loop *loop = calloc(1, sizeof *loop);
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    loop->watch = name != NULL ? hangdog_loop_watch(name, 0) : NULL;
    return loop;
}

static void dispatch(struct loop *loop, struct source *source) {
    struct call call = source->call;
    if (source->once) {
        close(source->fd);
        free(source);
    }
    call.run(loop, call.argument);
}

void loop_run(struct loop *loop) {
    while (!loop->quits) {
        struct epoll_event event;
        if (hangdog_epoll_wait(loop->watch, loop->epoll_fd, &event, 1, loop->idle.run != NULL ? 0 : -1) ==
            1) {
            dispatch(loop, event.data.ptr);
        } else if (loop->idle.run != NULL) {
            struct call idle = loop->idle;
            loop->idle.run = NULL;
            idle.run(loop, idle.argument);
        }
    }
    loop->quits = false;
}

void loop_quit(struct loop *loop) {
    loop->quits = true;
}

static struct source *add(struct loop *loop, int fd, struct call call, bool once) {
    struct source *source = malloc(sizeof *source);
    struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = source}};
    *source = (struct source){call, fd, once};
    epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event);
    return source;
}

void loop_on_input(struct loop *loop, int fd, struct call call) {
    loop->input = add(loop, fd, call, false);
}

void loop_after(struct loop *loop, unsigned ms, struct call call) {
    struct itimerspec after = {.it_value = {ms / 1000, (long)(ms % 1000) * 1000000}};
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    timerfd_settime(fd, 0, &after, NULL);
    add(loop, fd, call, true);
} // NOLINT(clang-analyzer-unix.Malloc): epoll has the source

void loop_on_idle(struct loop *loop, struct call call) {
    loop->idle = call;
}

void loop_free(struct loop *loop) {
    hangdog_loop_unwatch(loop->watch);
    free(loop->input);
    close(loop->epoll_fd);
    free(loop);
}
