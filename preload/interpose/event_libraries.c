/* SPDX-License-Identifier: MIT
 * Libraries that do not wait by poll or similar calls: Tcl waits on a condition variable, SDL polls and
 * sleeps. Here the library's function itself is the wait, and calls inside it do not count. A function that
 * presents a frame is a wait too: it waits for the display, and a game may have no other wait. A pump
 * (SDL_PollEvent) only ends a turn: an event filter or a device list that runs in the pump belongs to the
 * next turn. Watched thread, as in waits.c. In a program without these libraries our names are not visible
 * (event_targets.c).
 */
#include <stdint.h>

#include "preload/attach/named_threads.h"
#include "preload/interpose/event_targets.h"
#include "preload/interpose/real.h"
#include "preload/waits/wait_table.h"

#define EXPORT __attribute__((visibility("default")))

/* GAME: to poll for events and to present a frame are waits of one loop, and each ends the turn. */
enum {
    TCL = HD_WAIT_LIBRARY,
    GAME
};

/* A toolkit may present frames before its loop starts, so the first ones do not count as a loop's. */
#define FRAMES_BEFORE_A_LOOP 8
static _Thread_local uint8_t frames_seen;

static void begin(struct hd_waiting *w, int library, bool blocks, const void *caller, const void *frame) {
    struct hd_wait_call call = {.hash = (uint64_t)library << 32, .epoll = library};
    if (hd_wait_table_self != NULL || (hd_named != NULL && hd_named_watch_caller())) {
        hd_wait_begin(w, &call, blocks, caller, frame);
    }
    if (w->waits != NULL) { /* calls inside the library's function are not waits */
        atomic_store_explicit(&w->waits->slow_path, true, memory_order_relaxed);
        w->waits->library = w;
    }
}

/* The wait of a pump is over at once. Calls inside the pump still are not waits. */
static void end_early(struct hd_waiting *w) {
    if (w->waits != NULL) {
        hd_wait_end(w);
        w->over = true;
        w->waits->library = NULL;
    }
}

static bool is_early(bool frame) {
    frames_seen += frame && frames_seen < FRAMES_BEFORE_A_LOOP;
    return frame && frames_seen < FRAMES_BEFORE_A_LOOP;
}

/* Counts the frame. In a callback of another loop, the wait for the display is part of that loop's turn. */
static void end(struct hd_waiting *w, bool frame) {
    struct hd_wait_table *t = w->waits;
    if (t == NULL) {
        return;
    }
    uint64_t waited = w->idle ? hd_loop_ticks(t->loop) - w->began : 0;
    atomic_store_explicit(&t->slow_path, false, memory_order_relaxed);
    t->library = NULL;
    if (!w->over) {
        hd_wait_end(w);
    }
    struct hd_watch *watch = t->watch;
    if (frame && watch != NULL) { /* NULL in a child that was forked during the wait, and is wiped */
        hd_frames_add(&watch->loop, waited);
    }
}

/* Each function has at most two arguments, in registers. A void function leaves an undefined value in the
 * result's register, which the caller ignores. */
typedef long function(const void *, long);

#define FUNCTIONS(WAIT, FRAME)                                         \
    WAIT(Tcl_WaitForEvent, (const long *first), 0)                     \
    WAIT(SDL_WaitEvent, (void *first), 0)                              \
    WAIT(SDL_WaitEventTimeout, (void *first, int ms), ms)              \
    /* The pumps, in which a game's frame ends and the next begins. */ \
    WAIT(SDL_PollEvent, (void *first), 0)                              \
    WAIT(SDL_PumpEvents, (void *first), 0)                             \
    FRAME(SDL_RenderPresent, (void *first), 0)                         \
    FRAME(SDL_UpdateWindowSurface, (void *first), 0)                   \
    FRAME(SDL_GL_SwapWindow, (void *first), 0)                         \
    FRAME(glfwSwapBuffers, (void *first), 0)                           \
    FRAME(eglSwapBuffers, (void *first, long surface), surface)        \
    FRAME(glXSwapBuffers, (void *first, long drawable), drawable)      \
    FRAME(vkQueuePresentKHR, (void *first, long what), what)

#define NUMBER(name, PARAMETERS, second) NUMBER_##name,
enum {
    FUNCTIONS(NUMBER, NUMBER) COUNT
};
#define FIRST_PUMP NUMBER_SDL_PollEvent
#define FIRST_FRAME NUMBER_SDL_RenderPresent

#define NAME(name, PARAMETERS, second) #name "\0"

static const char names[] = FUNCTIONS(NAME, NAME);

static _Atomic bool resolved;

static __attribute__((noinline)) long call(unsigned which, const void *first, long second, const void *caller,
                                           const void *frame) {
    const long *time = first;                                     /* Tcl's timeout */
    if (!atomic_load_explicit(&resolved, memory_order_acquire)) { /* called by an earlier constructor */
        hd_interpose_resolve_events();
    }
    function *real = (function *)hd_event_target(which, names, caller);
    struct hd_waiting w;
    if (real == NULL) { /* the program found our name by dlsym, and has no such library */
        return 0;
    }
    CALLS_WHEN_UNWOUND;
    w.waits = NULL;
    w.over = false;
    if (!is_early(which >= FIRST_FRAME)) {
        bool tcl = which == NUMBER_Tcl_WaitForEvent;
        begin(&w, tcl ? TCL : GAME, !tcl || time == NULL || time[0] != 0 || time[1] != 0, caller, frame);
    }
    if (which >= FIRST_PUMP && which < FIRST_FRAME) {
        end_early(&w);
    }
    long result = real(first, second);
    end(&w, which >= FIRST_FRAME);
    return result;
}

#define INTERPOSE(name, PARAMETERS, second)                                                            \
    EXPORT long name PARAMETERS;                                                                       \
    EXPORT long name PARAMETERS {                                                                      \
        return call(NUMBER_##name, first, second, __builtin_return_address(0), __builtin_dwarf_cfa()); \
    }                                                                                                  \
    extern __typeof__(name) own_##name __attribute__((alias(#name), visibility("hidden")));
FUNCTIONS(INTERPOSE, INTERPOSE)

#define RESOLVE(name, PARAMETERS, second) \
    hd_event_target_resolve(NUMBER_##name, names, (const void *)own_##name, may_come);

void hd_interpose_resolve_events(void) {
    _Static_assert(COUNT <= HD_EVENT_FUNCTIONS_MAX, "a slot for each");
    if (!atomic_load_explicit(&resolved, memory_order_acquire)) {
        bool may_come = hd_event_targets_may_come();
        FUNCTIONS(RESOLVE, RESOLVE)
        atomic_store_explicit(&resolved, true, memory_order_release);
    }
}
