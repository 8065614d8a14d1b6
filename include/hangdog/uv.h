/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Hangdog for libuv 1.44 and later, on Linux: each turn of a loop is exact.
 *
 * @code
 * hangdog_start(NULL);
 * hangdog_uv *watch = hangdog_uv_watch(uv_default_loop(), "main", 0);
 * hangdog_uv_run(watch, uv_default_loop(), UV_RUN_DEFAULT);
 * hangdog_uv_unwatch(watch);
 * @endcode
 *
 * libuv calls the callbacks of descriptors between its prepare and check handles, right after its wait. So
 * marks there count a callback that blocks as idle. Here a prepare handle waits for libuv's own descriptor
 * itself, and an idle handle then lets libuv poll with a zero timeout. Only the wait is idle.
 *
 * The functions are inline. The program links libuv itself. Only the loop's thread may call them.
 */
#ifndef HANGDOG_UV_H
#define HANGDOG_UV_H

#include <stdlib.h>
#include <sys/epoll.h>
#include <uv.h>

#include "hangdog/hangdog.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A watched loop of libuv. Only the functions of this header use the members. */
typedef struct hangdog_uv {
    hangdog_loop *loop;   /**< The handle, for the other functions of Hangdog. */
    uv_prepare_t prepare; /**< Waits. */
    uv_check_t check;     /**< Ends the zero timeout of libuv's poll. */
    uv_idle_t idle;       /**< Sets that zero timeout. */
    uv_run_mode mode;     /**< The mode of the current hangdog_uv_run(). */
    int runs;             /**< Not 0: the program is in hangdog_uv_run(). */
    int users;            /**< Handles that are not closed, and hangdog_uv_run(): the last frees the watch. */
} hangdog_uv;

/** @cond */
static inline void hangdog_uv_idle(uv_idle_t *handle) {
    (void)handle;
}

static inline void hangdog_uv_prepare(uv_prepare_t *handle) {
    hangdog_uv *watch = (hangdog_uv *)handle->data;
    struct epoll_event first;
    if (!watch->runs) { /* the mode is not known: libuv waits itself */
        hangdog_before_wait(watch->loop);
        return;
    }
    /* The timeout is also 0 if libuv has yet to add a descriptor. */
    int timeout = watch->mode == UV_RUN_NOWAIT ? 0 : uv_backend_timeout(handle->loop);
    uv_idle_start(&watch->idle, hangdog_uv_idle);
    if (timeout == 0) {
        hangdog_turn(watch->loop);
        return;
    }
    hangdog_before_wait(watch->loop);
    (void)epoll_wait(uv_backend_fd(handle->loop), &first, 1, timeout); /* libuv reads the event again */
    hangdog_after_wait(watch->loop);
}

static inline void hangdog_uv_check(uv_check_t *handle) {
    hangdog_uv *watch = (hangdog_uv *)handle->data;
    uv_idle_stop(&watch->idle);
    if (!watch->runs) {
        hangdog_after_wait(watch->loop);
    }
}

static inline void hangdog_uv_leave(hangdog_uv *watch) {
    if (--watch->users == 0) {
        free(watch);
    }
}

static inline void hangdog_uv_closed(uv_handle_t *handle) {
    hangdog_uv_leave((hangdog_uv *)handle->data);
}

/* The program may have closed all handles of the loop already. */
static inline void hangdog_uv_close(uv_handle_t *handle) {
    if (!uv_is_closing(handle)) {
        uv_close(handle, hangdog_uv_closed);
    }
}
/** @endcond */

/**
 * Watches a loop of the calling thread: hangdog_loop_watch() and three handles, which do not keep the loop
 * alive. Call this function before the program starts prepare handles, because those would run after the
 * wait. The metric UV_METRICS_IDLE_TIME of the loop is 0, because libuv itself does not wait. A program that
 * closes all handles of a loop may close these three, but not free them. If it does not call
 * hangdog_uv_unwatch() before, the watch's memory stays.
 *
 * @param uv The loop.
 * @param name The loop's name in reports; the function copies the name.
 * @param threshold_ns The loop's threshold in the foreground state, in nanoseconds; 0: that of
 * hangdog_options.
 * @return The watch. NULL: Hangdog does not run, libuv is older than 1.44, 256 loops are watched already, or
 * there is not enough memory.
 */
static inline hangdog_uv *hangdog_uv_watch(uv_loop_t *uv, const char *name, uint64_t threshold_ns) {
    hangdog_uv *watch = uv_version() >= 0x012c00 ? (hangdog_uv *)calloc(1, sizeof *watch) : NULL;
    hangdog_loop *loop = watch != NULL ? hangdog_loop_watch(name, threshold_ns) : NULL;
    if (loop == NULL) {
        free(watch);
        return NULL;
    }
    watch->loop = loop;
    watch->users = 3;
    uv_prepare_init(uv, &watch->prepare);
    uv_check_init(uv, &watch->check);
    uv_idle_init(uv, &watch->idle);
    watch->prepare.data = watch->check.data = watch->idle.data = watch;
    uv_unref((uv_handle_t *)&watch->prepare);
    uv_unref((uv_handle_t *)&watch->check);
    uv_unref((uv_handle_t *)&watch->idle);
    uv_prepare_start(&watch->prepare, hangdog_uv_prepare);
    uv_check_start(&watch->check, hangdog_uv_check);
    return watch;
}

/**
 * Runs a watched loop. Call this function in place of uv_run(). After uv_run() itself, callbacks of
 * descriptors count as idle.
 *
 * With UV_RUN_ONCE it may return before a callback has run, because libuv first adds new descriptors. The
 * program's work after UV_RUN_ONCE belongs to the turn. After the other modes, and at the end of the last
 * handle, the loop is idle: the program may wait elsewhere until the next call.
 *
 * @param watch The watch; NULL: the function only calls uv_run().
 * @param uv The loop.
 * @param mode The mode of uv_run().
 * @return The result of uv_run().
 */
static inline int hangdog_uv_run(hangdog_uv *watch, uv_loop_t *uv, uv_run_mode mode) {
    if (watch == NULL) {
        return uv_run(uv, mode);
    }
    watch->mode = mode;
    watch->runs = 1;
    watch->users++;
    hangdog_mark(watch->loop, HANGDOG_BEFORE_TIMERS);
    int alive = uv_run(uv, mode);
    if (mode != UV_RUN_ONCE || !alive) {
        hangdog_mark(watch->loop, HANGDOG_EXIT);
    }
    watch->runs = 0;
    hangdog_uv_leave(watch);
    return alive;
}

/**
 * Ends the watch of a loop, even after hangdog_stop(). Call this function once, even in a callback of the
 * loop. Then let the loop run, or run it once more by uv_run(), as for each uv_close(): that closes the three
 * handles and frees the watch.
 *
 * @param watch The watch; NULL: the function does nothing.
 */
static inline void hangdog_uv_unwatch(hangdog_uv *watch) {
    if (watch == NULL) {
        return;
    }
    hangdog_loop_unwatch(watch->loop);
    watch->loop = NULL;
    hangdog_uv_close((uv_handle_t *)&watch->prepare);
    hangdog_uv_close((uv_handle_t *)&watch->check);
    hangdog_uv_close((uv_handle_t *)&watch->idle);
}

#ifdef __cplusplus
}
#endif
#endif
