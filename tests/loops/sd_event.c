/* SPDX-License-Identifier: MIT
 *
 * systemd's sd-event, by hangdog/sd_event.h.
 */
#include "hangdog/sd_event.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>

#include "loops.h"

const char *const loop_never_nests = "sd_event_run() is not reentrant";

struct loop {
    sd_event *event;
    hangdog_loop *watch;
    sd_event_source *input;
    struct call call;
};

struct due {
    struct loop *loop;
    struct call call;
};

struct loop *loop_make(const char *name) {
    struct loop *loop = calloc(1, sizeof *loop);
    sd_event_new(&loop->event);
    loop->watch = name != NULL ? hangdog_loop_watch(name, 0) : NULL;
    return loop;
}

void loop_run(struct loop *loop) {
    hangdog_sd_event_loop(loop->watch, loop->event);
}

void loop_quit(struct loop *loop) {
    sd_event_exit(loop->event, 0);
}

static int call_input(sd_event_source *source, int fd, uint32_t events, void *data) {
    struct loop *loop = data;
    (void)source;
    (void)fd;
    (void)events;
    loop->call.run(loop, loop->call.argument);
    return 0;
}

void loop_on_input(struct loop *loop, int fd, struct call call) {
    loop->call = call;
    sd_event_add_io(loop->event, &loop->input, fd, EPOLLIN, call_input, loop);
}

static int call_due(sd_event_source *source, void *data) {
    struct due *due = data;
    sd_event_source_set_enabled(source, SD_EVENT_OFF);
    due->call.run(due->loop, due->call.argument);
    free(due);
    return 0;
}

static int call_timer(sd_event_source *source, uint64_t usec, void *data) {
    (void)usec;
    return call_due(source, data);
}

static struct due *due(struct loop *loop, struct call call) {
    struct due *d = calloc(1, sizeof *d);
    d->loop = loop;
    d->call = call;
    return d;
}

void loop_after(struct loop *loop, unsigned ms, struct call call) {
    sd_event_add_time_relative(loop->event, NULL, CLOCK_MONOTONIC, (uint64_t)ms * 1000, 1, call_timer,
                               due(loop, call));
}

void loop_on_idle(struct loop *loop, struct call call) {
    sd_event_source *source = NULL;
    sd_event_add_defer(loop->event, &source, call_due, due(loop, call));
    sd_event_source_set_priority(source, SD_EVENT_PRIORITY_IDLE);
    sd_event_source_set_floating(source, 1);
    sd_event_source_unref(source);
}

void loop_free(struct loop *loop) {
    hangdog_loop_unwatch(loop->watch);
    sd_event_source_unref(loop->input);
    sd_event_unref(loop->event);
    free(loop);
}
