/* SPDX-License-Identifier: MIT
 *
 * libev's loop, by hangdog/ev.h.
 */
#include "hangdog/ev.h"

#include <stdlib.h>

#include "loops.h"

const char *const loop_never_nests = NULL;

struct loop {
    struct ev_loop *ev;
    hangdog_ev *watch;
    ev_io input;
    struct call call;
};

struct due {
    union {
        ev_timer timer;
        ev_idle idle;
    };
    struct call call;
};

struct loop *loop_make(const char *name) {
    struct loop *loop = calloc(1, sizeof *loop);
    loop->ev = ev_loop_new(0);
    ev_set_userdata(loop->ev, loop);
    loop->watch = name != NULL ? hangdog_ev_watch(loop->ev, name, 0) : NULL;
    return loop;
}

void loop_run(struct loop *loop) {
    ev_run(loop->ev, 0);
}

void loop_quit(struct loop *loop) {
    ev_break(loop->ev, EVBREAK_ONE);
}

static void call_input(struct ev_loop *ev, ev_io *input, int events) {
    struct loop *loop = ev_userdata(ev);
    (void)input;
    (void)events;
    loop->call.run(loop, loop->call.argument);
}

void loop_on_input(struct loop *loop, int fd, struct call call) {
    loop->call = call;
    ev_io_init(&loop->input, call_input, fd, EV_READ);
    ev_io_start(loop->ev, &loop->input);
}

static void call_due(struct ev_loop *ev, struct due *due) {
    struct call call = due->call;
    free(due);
    call.run(ev_userdata(ev), call.argument);
}

static void call_timer(struct ev_loop *ev, ev_timer *timer, int events) {
    (void)events;
    call_due(ev, timer->data);
}

static void call_idle(struct ev_loop *ev, ev_idle *idle, int events) {
    (void)events;
    ev_idle_stop(ev, idle);
    call_due(ev, idle->data);
}

static struct due *due(struct call call) {
    struct due *d = calloc(1, sizeof *d);
    d->call = call;
    return d;
}

void loop_after(struct loop *loop, unsigned ms, struct call call) {
    struct due *d = due(call);
    ev_timer_init(&d->timer, call_timer, ms / 1000.0, 0);
    d->timer.data = d;
    ev_now_update(loop->ev);
    ev_timer_start(loop->ev, &d->timer);
}

void loop_on_idle(struct loop *loop, struct call call) {
    struct due *d = due(call);
    ev_idle_init(&d->idle, call_idle);
    d->idle.data = d;
    ev_idle_start(loop->ev, &d->idle);
}

void loop_free(struct loop *loop) {
    hangdog_ev_unwatch(loop->watch);
    ev_loop_destroy(loop->ev);
    free(loop);
}
