/* SPDX-License-Identifier: MIT
 *
 * Libraries that wait by other means than poll and its kin: Tcl by a condition variable, SDL by looks with
 * zero timeout and sleeps. Their own functions are the waits; what these wait for inside is not looked at.
 * The same is true of the functions that present a frame, which wait for the display: a game may wait for
 * nothing else. Watched thread: as in waits.c. Programs without these libraries have none of our names in
 * front of them (event_targets.c).
 */
#include <stdint.h>

#include "preload/attach/named_threads.h"
#include "preload/interpose/event_targets.h"
#include "preload/interpose/real.h"
#include "preload/waits/wait_table.h"

#define EXPORT __attribute__((visibility("default")))

/* A game looks for events, and presents a frame: one loop, whose turn either of them ends. */
enum {
    TCL = HD_WAIT_LIBRARY,
    GAME
};

/* The first frames are no evidence of a loop: a toolkit may present one before its loop begins. */
#define FRAMES_BEFORE_A_LOOP 8
static _Thread_local uint8_t frames_seen;

static void begin(struct hd_waiting *w, int library, bool blocks, const void *caller, const void *frame) {
    struct hd_wait_set set = {.hash = (uint64_t)library << 32, .epoll = library};
    if (hd_wait_table_self != NULL || (hd_named != NULL && hd_named_watch_caller())) {
        hd_wait_begin(w, &set, blocks, caller, frame);
    }
    if (w->waits != NULL) { /* its own calls are no other waits */
        atomic_store_explicit(&w->waits->slow_path, true, memory_order_relaxed);
    }
}

static bool is_early(bool frame) {
    frames_seen += frame && frames_seen < FRAMES_BEFORE_A_LOOP;
    return frame && frames_seen < FRAMES_BEFORE_A_LOOP;
}

/* Of a frame in a callback of another loop the wait for the display is a part of that loop's turn. */
static void end(struct hd_waiting *w, bool frame) {
    struct hd_wait_table *t = w->waits;
    if (t == NULL) {
        return;
    }
    uint64_t waited = w->idle ? hd_loop_ticks(t->loop) - w->began : 0;
    atomic_store_explicit(&t->slow_path, false, memory_order_relaxed);
    hd_wait_end(w);
    struct hd_watch *watch = t->watch;
    if (frame && watch != NULL) { /* NULL: a forked child, wiped while it waited */
        hd_frames_add(&watch->loop, waited);
    }
}

/* Each function has two arguments at the most, in registers. Those that return nothing leave what is no
 * result in its register. */
typedef long function(const void *, long);

#define FUNCTIONS(WAIT, FRAME)                                           \
    WAIT(Tcl_WaitForEvent, (const long *first), 0)                       \
    WAIT(SDL_WaitEvent, (void *first), 0)                                \
    WAIT(SDL_WaitEventTimeout, (void *first, int ms), ms)                \
    /* Short waits, in which a game's frame ends and the next begins. */ \
    WAIT(SDL_PollEvent, (void *first), 0)                                \
    WAIT(SDL_PumpEvents, (void *first), 0)                               \
    FRAME(SDL_RenderPresent, (void *first), 0)                           \
    FRAME(SDL_UpdateWindowSurface, (void *first), 0)                     \
    FRAME(SDL_GL_SwapWindow, (void *first), 0)                           \
    FRAME(glfwSwapBuffers, (void *first), 0)                             \
    FRAME(eglSwapBuffers, (void *first, long surface), surface)          \
    FRAME(glXSwapBuffers, (void *first, long drawable), drawable)        \
    FRAME(vkQueuePresentKHR, (void *first, long what), what)

#define NUMBER(name, PARAMETERS, second) NUMBER_##name,
enum {
    FUNCTIONS(NUMBER, NUMBER) COUNT
};
#define FIRST_FRAME NUMBER_SDL_RenderPresent

#define NAME(name, PARAMETERS, second) #name "\0"

static const char names[] = FUNCTIONS(NAME, NAME);

static _Atomic bool resolved;

static __attribute__((noinline)) long call(unsigned which, const void *first, long second, const void *caller,
                                           const void *frame) {
    const long *time = first;                                     /* of Tcl */
    if (!atomic_load_explicit(&resolved, memory_order_acquire)) { /* a library's constructor was first */
        hd_interpose_resolve_events();
    }
    function *real = (function *)hd_event_target(which, names, caller);
    struct hd_waiting w;
    if (real == NULL) { /* found by dlsym, in a program without the library */
        return 0;
    }
    CALLS_WHEN_UNWOUND;
    w.waits = NULL;
    if (!is_early(which >= FIRST_FRAME)) {
        bool tcl = which == NUMBER_Tcl_WaitForEvent;
        begin(&w, tcl ? TCL : GAME, !tcl || time == NULL || time[0] != 0 || time[1] != 0, caller, frame);
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
    _Static_assert(COUNT <= HD_EVENT_FUNCTIONS_MAX, "a place for each");
    if (!atomic_load_explicit(&resolved, memory_order_acquire)) {
        bool may_come = hd_event_targets_may_come();
        FUNCTIONS(RESOLVE, RESOLVE)
        atomic_store_explicit(&resolved, true, memory_order_release);
    }
}
