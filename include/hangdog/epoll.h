/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Hangdog for a hand-written loop on epoll or poll: the waits, with their marks.
 *
 * @code
 * hangdog_start(NULL);
 * hangdog_loop *loop = hangdog_loop_watch("main", 0);
 * for (;;) {
 *     int n = hangdog_epoll_wait(loop, epoll_fd, events, 64, -1);
 *     dispatch(events, n);
 * }
 * @endcode
 *
 * A loop that waits by another call marks it by hangdog_before_wait() and hangdog_after_wait() in the same
 * way. Only the wait of the loop itself may be marked. A wait of a callback, such as for the answer of a
 * server, is part of the turn.
 *
 * The functions are inline. Only the loop's thread may call them.
 */
#ifndef HANGDOG_EPOLL_H
#define HANGDOG_EPOLL_H

#include <poll.h>
#include <sys/epoll.h>

#include "hangdog/hangdog.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @cond */
static inline void hangdog_epoll_before(hangdog_loop *loop, int timeout_ms) {
    if (timeout_ms == 0) {
        hangdog_turn(loop);
    } else {
        hangdog_before_wait(loop);
    }
}

static inline void hangdog_epoll_after(hangdog_loop *loop, int timeout_ms) {
    if (timeout_ms != 0) {
        hangdog_after_wait(loop); /* keeps errno */
    }
}
/** @endcond */

/**
 * Waits as epoll_wait() does, with the loop's marks around the wait.
 *
 * @param loop The handle; NULL: the function only waits.
 * @param epoll_fd The epoll instance.
 * @param events Gets the events.
 * @param count The most events.
 * @param timeout_ms The longest wait in milliseconds; -1: no limit.
 * @return As epoll_wait(): the number of events, or -1 with errno.
 */
static inline int hangdog_epoll_wait(hangdog_loop *loop, int epoll_fd, struct epoll_event *events, int count,
                                     int timeout_ms) {
    hangdog_epoll_before(loop, timeout_ms);
    int ready = epoll_wait(epoll_fd, events, count, timeout_ms);
    hangdog_epoll_after(loop, timeout_ms);
    return ready;
}

/**
 * Waits as poll() does, with the loop's marks around the wait.
 *
 * @param loop The handle; NULL: the function only waits.
 * @param fds The descriptors.
 * @param count The number of descriptors.
 * @param timeout_ms The longest wait in milliseconds; -1: no limit.
 * @return As poll(): the number of descriptors with events, or -1 with errno.
 */
static inline int hangdog_poll(hangdog_loop *loop, struct pollfd *fds, nfds_t count, int timeout_ms) {
    hangdog_epoll_before(loop, timeout_ms);
    int ready = poll(fds, count, timeout_ms);
    hangdog_epoll_after(loop, timeout_ms);
    return ready;
}

#ifdef __cplusplus
}
#endif
#endif
