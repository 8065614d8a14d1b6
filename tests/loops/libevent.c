/* SPDX-License-Identifier: MIT
 *
 * libevent's base, by hangdog/libevent.h.
 */
#include "hangdog/libevent.h"

#include <stdlib.h>

#include "loops.h"

const char *const loop_never_nests = "event_base_loop() is not reentrant";

struct loop {
    struct event_base *base;
    hangdog_libevent *watch;
    struct event *input;
    struct call call;
};

struct due {
    struct loop *loop;
    struct call call;
};

struct loop *loop_make(const char *name) {
    struct loop *loop = calloc(1, sizeof *loop);
    loop->base = event_base_new();
    event_base_priority_init(loop->base, 2);
    loop->watch = name != NULL ? hangdog_libevent_watch(loop->base, name, 0) : NULL;
    return loop;
}

void loop_run(struct loop *loop) {
    event_base_loop(loop->base, EVLOOP_NO_EXIT_ON_EMPTY);
}

void loop_quit(struct loop *loop) {
    event_base_loopbreak(loop->base);
}

static void call_input(evutil_socket_t fd, short events, void *data) {
    struct loop *loop = data;
    (void)fd;
    (void)events;
    loop->call.run(loop, loop->call.argument);
}

void loop_on_input(struct loop *loop, int fd, struct call call) {
    loop->call = call;
    loop->input = event_new(loop->base, fd, EV_READ | EV_PERSIST, call_input, loop);
    event_add(loop->input, NULL);
}

static void call_due(evutil_socket_t fd, short events, void *data) {
    struct due due = *(struct due *)data;
    (void)fd;
    (void)events;
    free(data);
    due.call.run(due.loop, due.call.argument);
}

static struct due *due(struct loop *loop, struct call call) {
    struct due *d = calloc(1, sizeof *d);
    d->loop = loop;
    d->call = call;
    return d;
}

void loop_after(struct loop *loop, unsigned ms, struct call call) {
    struct timeval after = {ms / 1000, (suseconds_t)(ms % 1000) * 1000};
    event_base_once(loop->base, -1, EV_TIMEOUT, call_due, due(loop, call), &after);
}

/* libevent has no such hook: an event of the lowest priority. */
void loop_on_idle(struct loop *loop, struct call call) {
    struct timeval at_once = {0, 0};
    event_base_once(loop->base, -1, EV_TIMEOUT, call_due, due(loop, call), &at_once);
}

void loop_free(struct loop *loop) {
    hangdog_libevent_unwatch(loop->watch);
    if (loop->input != NULL) {
        event_free(loop->input);
    }
    event_base_free(loop->base);
    free(loop);
}
