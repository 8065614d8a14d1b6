/* SPDX-License-Identifier: MIT
 *
 * SDL's loop, by hangdog/sdl.h. SDL has no descriptors, so a thread reads and posts an event, and no hook for
 * idle work: a game polls, and works where there is no event.
 */
#include "hangdog/sdl.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loops.h"

const char *const loop_never_nests = NULL;

struct loop {
    hangdog_loop *watch;
    bool quits;
    struct call idle, input;
    int fd;
    bool ends;
    SDL_sem *handled;
    SDL_Thread *reader;
};

struct loop *loop_make(const char *name) {
    static SDL_Window *window;
    if (name != NULL && strcmp(name, "second") == 0) {
        puts("SDL has one loop, that of the main thread");
        fflush(stdout);
        _Exit(77); /* the main thread is in SDL */
    }
    if (window == NULL) {
        SDL_Init(SDL_INIT_VIDEO | SDL_INIT_TIMER);
        window = SDL_CreateWindow("loop", 0, 0, 64, 64, 0);
    }
    struct loop *loop = calloc(1, sizeof *loop);
    loop->watch = name != NULL ? hangdog_loop_watch(name, 0) : NULL;
    return loop;
}

static void push(struct call *call, int code) {
    SDL_Event event = {.user = {.type = SDL_USEREVENT, .code = code, .data1 = call}};
    SDL_PushEvent(&event);
}

static void handle(struct loop *loop, const SDL_Event *event) {
    struct call *call = event->user.data1;
    if (event->type != SDL_USEREVENT) {
        return;
    }
    call->run(loop, call->argument);
    if (event->user.code != 0) {
        free(call);
    } else {
        SDL_SemPost(loop->handled);
    }
}

void loop_run(struct loop *loop) {
    while (!loop->quits) {
        SDL_Event event;
        if (loop->idle.run == NULL) {
            if (hangdog_sdl_wait_event(loop->watch, &event)) {
                handle(loop, &event);
            }
        } else if (hangdog_sdl_poll_event(loop->watch, &event)) {
            handle(loop, &event);
        } else {
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

static int read_input(void *argument) {
    struct loop *loop = argument;
    while (!loop->ends) {
        struct pollfd fd = {.fd = loop->fd, .events = POLLIN};
        if (poll(&fd, 1, 100) == 1) {
            push(&loop->input, 0);
            SDL_SemWait(loop->handled);
        }
    }
    return 0;
}

void loop_on_input(struct loop *loop, int fd, struct call call) {
    loop->input = call;
    loop->fd = fd;
    loop->handled = SDL_CreateSemaphore(0);
    loop->reader = SDL_CreateThread(read_input, "input", loop);
}

static Uint32 on_timer(Uint32 interval, void *call) {
    (void)interval;
    push(call, 1);
    return 0;
}

void loop_after(struct loop *loop, unsigned ms, struct call call) {
    struct call *owed = malloc(sizeof *owed);
    (void)loop;
    *owed = call;
    SDL_AddTimer(ms, on_timer, owed);
}

void loop_on_idle(struct loop *loop, struct call call) {
    loop->idle = call;
}

void loop_free(struct loop *loop) {
    loop->ends = true;
    if (loop->reader != NULL) {
        SDL_WaitThread(loop->reader, NULL);
        SDL_DestroySemaphore(loop->handled);
    }
    hangdog_loop_unwatch(loop->watch);
    free(loop);
}
