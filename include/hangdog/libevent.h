/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Hangdog for libevent 2.1 and later: each wait of a base is marked.
 *
 * @code
 * hangdog_start(NULL);
 * hangdog_libevent *watch = hangdog_libevent_watch(base, "main", 0);
 * event_base_dispatch(base);
 * hangdog_libevent_unwatch(watch);
 * @endcode
 *
 * libevent 2.2 has watchers for that (evwatch), libevent 2.1 has none. There the watch copies the table of
 * the base's backend, and marks the waits in the copy. The table is the same in all versions 2.1.
 * hangdog_libevent_watch() refuses a base of another form.
 *
 * The functions are inline. The program links libevent itself. Only the loop's thread may call them.
 */
#ifndef HANGDOG_LIBEVENT_H
#define HANGDOG_LIBEVENT_H

#include <event2/event.h>
#include <stdlib.h>

#include "hangdog/hangdog.h"

#if LIBEVENT_VERSION_NUMBER >= 0x02020000
#include <event2/watch.h>
#elif LIBEVENT_VERSION_NUMBER < 0x02010000
#error "hangdog/libevent.h needs libevent 2.1 or later"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** @cond */
typedef int (*hangdog_libevent_dispatch)(struct event_base *, struct timeval *);

/* struct eventop of libevent 2.1. */
typedef struct hangdog_libevent_backend {
    const char *name;
    void (*init_add_del[3])(void);
    hangdog_libevent_dispatch dispatch;
    void (*dealloc)(struct event_base *);
    int need_reinit;
    enum event_method_feature features;
    size_t fdinfo_len;
} hangdog_libevent_backend;
/** @endcond */

/** A watched base of libevent. Only the functions of this header use the members. */
typedef struct hangdog_libevent {
    hangdog_libevent_backend backend;         /**< The copy of the table. The base refers to it. */
    const hangdog_libevent_backend *original; /**< The table that the base had. */
    struct event_base *base;                  /**< The base. */
    hangdog_loop *loop;                       /**< The handle, for the other functions of Hangdog. */
    struct evwatch *watchers[2];              /**< The watchers of libevent 2.2. */
} hangdog_libevent;

/** @cond */
#if LIBEVENT_VERSION_NUMBER >= 0x02020000
static inline void hangdog_libevent_prepare(struct evwatch *watcher,
                                            const struct evwatch_prepare_cb_info *info, void *loop) {
    (void)watcher;
    (void)info;
    hangdog_before_wait((hangdog_loop *)loop);
}

static inline void hangdog_libevent_check(struct evwatch *watcher, const struct evwatch_check_cb_info *info,
                                          void *loop) {
    (void)watcher;
    (void)info;
    hangdog_after_wait((hangdog_loop *)loop);
}

static inline int hangdog_libevent_hook(hangdog_libevent *watch) {
    watch->watchers[0] = evwatch_prepare_new(watch->base, hangdog_libevent_prepare, watch->loop);
    watch->watchers[1] = evwatch_check_new(watch->base, hangdog_libevent_check, watch->loop);
    return watch->watchers[0] != NULL && watch->watchers[1] != NULL;
}

static inline void hangdog_libevent_unhook(hangdog_libevent *watch) {
    for (int i = 0; i < 2; i++) {
        if (watch->watchers[i] != NULL) {
            evwatch_free(watch->watchers[i]);
        }
    }
}
#else
/* The first member of a base is its backend's table. */
static inline const hangdog_libevent_backend **hangdog_libevent_table(struct event_base *base) {
    return (const hangdog_libevent_backend **)(void *)base;
}

static inline int hangdog_libevent_wait(struct event_base *base, struct timeval *timeout) {
    const hangdog_libevent *watch = (const hangdog_libevent *)(const void *)*hangdog_libevent_table(base);
    if (timeout != NULL && timeout->tv_sec == 0 && timeout->tv_usec == 0) {
        hangdog_turn(watch->loop);
        return watch->original->dispatch(base, timeout);
    }
    hangdog_before_wait(watch->loop);
    int result = watch->original->dispatch(base, timeout);
    hangdog_after_wait(watch->loop);
    return result;
}

static inline int hangdog_libevent_hook(hangdog_libevent *watch) {
    watch->original = *hangdog_libevent_table(watch->base);
    if (event_get_version_number() >> 16 != 0x0201 || watch->original->dispatch == hangdog_libevent_wait ||
        watch->original->name != event_base_get_method(watch->base)) {
        return 0;
    }
    watch->backend = *watch->original;
    watch->backend.dispatch = hangdog_libevent_wait;
    *hangdog_libevent_table(watch->base) = &watch->backend;
    return 1;
}

static inline void hangdog_libevent_unhook(hangdog_libevent *watch) {
    if (*hangdog_libevent_table(watch->base) == &watch->backend) {
        *hangdog_libevent_table(watch->base) = watch->original;
    }
}
#endif
/** @endcond */

/**
 * Watches a base that the calling thread runs. Call this function before event_base_dispatch() or
 * event_base_loop(): a loop that runs already is watched from its next call.
 *
 * @param base The base.
 * @param name The loop's name in reports; the function copies the name.
 * @param threshold_ns The loop's threshold in the foreground state, in nanoseconds; 0: that of
 * hangdog_options.
 * @return The watch. NULL: Hangdog does not run, libevent is another version than that of the headers, 256
 * loops are watched already, or there is not enough memory.
 */
static inline hangdog_libevent *hangdog_libevent_watch(struct event_base *base, const char *name,
                                                       uint64_t threshold_ns) {
    hangdog_libevent *watch = (hangdog_libevent *)calloc(1, sizeof *watch);
    hangdog_loop *loop = watch != NULL ? hangdog_loop_watch(name, threshold_ns) : NULL;
    if (loop == NULL) {
        free(watch);
        return NULL;
    }
    watch->base = base;
    watch->loop = loop;
    if (!hangdog_libevent_hook(watch)) {
        hangdog_libevent_unhook(watch);
        hangdog_loop_unwatch(loop);
        free(watch);
        return NULL;
    }
    return watch;
}

/**
 * Ends the watch of a base, even after hangdog_stop(). Call this function once, while the base does not run,
 * and before event_base_free().
 *
 * @param watch The watch; NULL: the function does nothing.
 */
static inline void hangdog_libevent_unwatch(hangdog_libevent *watch) {
    if (watch == NULL) {
        return;
    }
    hangdog_libevent_unhook(watch);
    hangdog_loop_unwatch(watch->loop);
    free(watch);
}

#ifdef __cplusplus
}
#endif
#endif
