/* SPDX-License-Identifier: MIT
 *
 * libuv's loop, by hangdog/uv.h. With TEXTBOOK by uv_run() itself, where prepare and check handles mark.
 * With WITH_WAITS by hangdog/waits.h, and so without a handle.
 */
#include "hangdog/uv.h"

#include <stdlib.h>

#include "loops.h"

const char *const loop_never_nests = "uv_run() is not reentrant";

struct loop {
    uv_loop_t uv;
    hangdog_uv *watch;
    uv_poll_t input;
    bool has_input;
    struct call call;
};

struct due {
    union {
        uv_timer_t timer;
        uv_idle_t idle;
    };
    struct call call;
};

static struct loop *loop_of(const uv_loop_t *uv) {
    return uv->data;
}

struct loop *loop_make(const char *name) {
    struct loop *loop = calloc(1, sizeof *loop);
    uv_loop_init(&loop->uv);
    loop->uv.data = loop;
#ifdef WITH_WAITS
    name = NULL;
#endif
    loop->watch = name != NULL ? hangdog_uv_watch(&loop->uv, name, 0) : NULL;
    return loop;
}

void loop_run(struct loop *loop) {
#if defined TEXTBOOK || defined WITH_WAITS
    uv_run(&loop->uv, UV_RUN_DEFAULT);
#else
    hangdog_uv_run(loop->watch, &loop->uv, UV_RUN_DEFAULT);
#endif
}

void loop_quit(struct loop *loop) {
    uv_stop(&loop->uv);
}

static void call_input(uv_poll_t *input, int status, int events) {
    struct loop *loop = loop_of(input->loop);
    (void)status;
    (void)events;
    loop->call.run(loop, loop->call.argument);
}

void loop_on_input(struct loop *loop, int fd, struct call call) {
    loop->call = call;
    loop->has_input = true;
    uv_poll_init(&loop->uv, &loop->input, fd);
    uv_poll_start(&loop->input, UV_READABLE, call_input);
}

static void free_due(uv_handle_t *handle) {
    free(handle->data);
}

static void call_due(uv_handle_t *handle) {
    struct due *due = handle->data;
    struct call call = due->call;
    uv_close(handle, free_due);
    call.run(loop_of(handle->loop), call.argument);
}

static void call_timer(uv_timer_t *timer) {
    call_due((uv_handle_t *)timer);
}

static void call_idle(uv_idle_t *idle) {
    call_due((uv_handle_t *)idle);
}

static struct due *due(struct call call) {
    struct due *d = calloc(1, sizeof *d);
    d->call = call;
    return d;
}

void loop_after(struct loop *loop, unsigned ms, struct call call) {
    struct due *d = due(call);
    uv_timer_init(&loop->uv, &d->timer);
    d->timer.data = d;
    uv_timer_start(&d->timer, call_timer, ms, 0);
}

void loop_on_idle(struct loop *loop, struct call call) {
    struct due *d = due(call);
    uv_idle_init(&loop->uv, &d->idle);
    d->idle.data = d;
    uv_idle_start(&d->idle, call_idle);
}

void loop_free(struct loop *loop) {
    hangdog_uv_unwatch(loop->watch);
    if (loop->has_input) {
        uv_close((uv_handle_t *)&loop->input, NULL);
    }
    uv_run(&loop->uv, UV_RUN_DEFAULT);
    if (uv_loop_close(&loop->uv) != 0) {
        abort();
    }
    free(loop);
}
