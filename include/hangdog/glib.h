/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Hangdog for GLib, GTK 3 and GTK 4: a main context's poll function marks the turns.
 *
 * @code
 * hangdog_start(NULL);
 * hangdog_glib *watch = hangdog_glib_watch(NULL, "main", 0);
 * g_application_run(application, argc, argv);
 * hangdog_glib_unwatch(watch);
 * @endcode
 *
 * A nested loop on the same context, such as that of gtk_dialog_run(), is idle while it waits. A private
 * context, such as that of a synchronous call over D-Bus, belongs to the turn.
 *
 * The functions are inline. The program links GLib itself.
 */
#ifndef HANGDOG_GLIB_H
#define HANGDOG_GLIB_H

#include <glib.h>
#include <stdlib.h>

#include "hangdog/hangdog.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A watched main context of GLib. Only the functions of this header use the members. */
typedef struct hangdog_glib {
    hangdog_loop *loop;    /**< The handle, for the other functions of Hangdog. */
    GMainContext *context; /**< The context. */
    GPollFunc poll;        /**< The poll function that the context had. */
    GPollFunc hook;        /**< The poll function that the context has: each source file has its own. */
    GPrivate *of_thread;   /**< The hook's watch of the thread. */
} hangdog_glib;

/** @cond */
/* The watch of each thread: GLib gives a poll function nothing of its own. */
static GPrivate hangdog_glib_of_thread = G_PRIVATE_INIT(NULL);

static inline gint hangdog_glib_poll(GPollFD *fds, guint count, gint timeout) {
    hangdog_glib *watch = (hangdog_glib *)g_private_get(&hangdog_glib_of_thread);
    if (watch == NULL) { /* another thread runs the context */
        return g_poll(fds, count, timeout);
    }
    if (timeout == 0) {
        hangdog_turn(watch->loop);
        return watch->poll(fds, count, timeout);
    }
    hangdog_before_wait(watch->loop);
    gint ready = watch->poll(fds, count, timeout);
    hangdog_after_wait(watch->loop); /* keeps errno */
    return ready;
}
/** @endcond */

/**
 * Watches a main context that the calling thread runs: hangdog_loop_watch() and a poll function around the
 * context's own. Since GLib 2.90 a context with such a function waits for whole milliseconds. A forked child
 * ends the parent's watch before it starts another one.
 *
 * @param context The context; NULL: the default one, which GTK uses.
 * @param name The loop's name in reports; the function copies the name.
 * @param threshold_ns The loop's threshold in the foreground state, in nanoseconds; 0: that of
 * hangdog_options.
 * @return The watch. NULL: Hangdog does not run, the thread watches another context, 256 loops are watched
 * already, or there is not enough memory.
 */
static inline hangdog_glib *hangdog_glib_watch(GMainContext *context, const char *name,
                                               uint64_t threshold_ns) {
    int first = g_private_get(&hangdog_glib_of_thread) == NULL;
    hangdog_glib *watch = first ? (hangdog_glib *)calloc(1, sizeof *watch) : NULL;
    hangdog_loop *loop = watch != NULL ? hangdog_loop_watch(name, threshold_ns) : NULL;
    if (loop == NULL) {
        free(watch);
        return NULL;
    }
    watch->loop = loop;
    watch->context = g_main_context_ref(context != NULL ? context : g_main_context_default());
    watch->poll = g_main_context_get_poll_func(watch->context);
    if (watch->poll == hangdog_glib_poll) { /* another thread watches the context */
        watch->poll = g_poll;
    }
    watch->hook = hangdog_glib_poll;
    watch->of_thread = &hangdog_glib_of_thread;
    g_private_set(watch->of_thread, watch);
    g_main_context_set_poll_func(watch->context, watch->hook);
    return watch;
}

/**
 * Ends the watch of a main context. Only the thread that called hangdog_glib_watch() may call this function,
 * once, even in a callback of the loop or after hangdog_stop().
 *
 * @param watch The watch; NULL: the function does nothing.
 */
static inline void hangdog_glib_unwatch(hangdog_glib *watch) {
    if (watch == NULL) {
        return;
    }
    if (g_main_context_get_poll_func(watch->context) == watch->hook) {
        g_main_context_set_poll_func(watch->context, watch->poll);
    }
    g_private_set(watch->of_thread, NULL);
    g_main_context_unref(watch->context);
    hangdog_loop_unwatch(watch->loop);
    free(watch);
}

#ifdef __cplusplus
}
#endif
#endif
