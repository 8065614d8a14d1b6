/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Hangdog for libev: a prepare and a check watcher mark the turns of a loop.
 *
 * @code
 * hangdog_start(NULL);
 * hangdog_ev *watch = hangdog_ev_watch(EV_DEFAULT, "main", 0);
 * ev_run(EV_DEFAULT, 0);
 * hangdog_ev_unwatch(watch);
 * @endcode
 *
 * libev calls all callbacks after its wait, in the order of their priorities. A prepare watcher with the
 * lowest priority is the last before the wait. A check watcher with the highest is the first after it.
 *
 * The functions are inline. The program links libev itself. Only the loop's thread may call them.
 */
#ifndef HANGDOG_EV_H
#define HANGDOG_EV_H

#include <ev.h>
#include <stdlib.h>

#include "hangdog/hangdog.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A watched loop of libev. Only the functions of this header use the members. */
typedef struct hangdog_ev {
    hangdog_loop *loop; /**< The handle, for the other functions of Hangdog. */
    struct ev_loop *ev; /**< The loop of libev. */
    ev_prepare prepare; /**< Marks the start of a wait. */
    ev_check check;     /**< Marks its end. */
} hangdog_ev;

/** @cond */
static inline void hangdog_ev_prepare(struct ev_loop *ev, ev_prepare *watcher, int events) {
    (void)ev;
    (void)events;
    hangdog_before_wait((hangdog_loop *)watcher->data);
}

static inline void hangdog_ev_check(struct ev_loop *ev, ev_check *watcher, int events) {
    (void)ev;
    (void)events;
    hangdog_after_wait((hangdog_loop *)watcher->data);
}
/** @endcond */

/**
 * Watches a loop of the calling thread: hangdog_loop_watch() and two watchers, which do not keep the loop
 * alive.
 *
 * @param ev The loop.
 * @param name The loop's name in reports; the function copies the name.
 * @param threshold_ns The loop's threshold in the foreground state, in nanoseconds; 0: that of
 * hangdog_options.
 * @return The watch. NULL: Hangdog does not run, 256 loops are watched already, or there is not enough
 * memory.
 */
static inline hangdog_ev *hangdog_ev_watch(struct ev_loop *ev, const char *name, uint64_t threshold_ns) {
    hangdog_ev *watch = (hangdog_ev *)calloc(1, sizeof *watch);
    hangdog_loop *loop = watch != NULL ? hangdog_loop_watch(name, threshold_ns) : NULL;
    if (loop == NULL) {
        free(watch);
        return NULL;
    }
    watch->loop = loop;
    watch->ev = ev;
    ev_prepare_init(&watch->prepare, hangdog_ev_prepare);
    ev_check_init(&watch->check, hangdog_ev_check);
    ev_set_priority(&watch->prepare, EV_MINPRI);
    ev_set_priority(&watch->check, EV_MAXPRI);
    watch->prepare.data = watch->check.data = loop;
    ev_prepare_start(ev, &watch->prepare);
    ev_check_start(ev, &watch->check);
    ev_unref(ev);
    ev_unref(ev);
    return watch;
}

/**
 * Ends the watch of a loop. Call this function once, even in a callback of the loop or after hangdog_stop().
 *
 * @param watch The watch; NULL: the function does nothing.
 */
static inline void hangdog_ev_unwatch(hangdog_ev *watch) {
    if (watch == NULL) {
        return;
    }
    ev_ref(watch->ev);
    ev_ref(watch->ev);
    ev_prepare_stop(watch->ev, &watch->prepare);
    ev_check_stop(watch->ev, &watch->check);
    hangdog_loop_unwatch(watch->loop);
    free(watch);
}

#ifdef __cplusplus
}
#endif
#endif
