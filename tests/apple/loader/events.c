/* SPDX-License-Identifier: MIT
 *
 * select and kqueue. A queue is one of epoll, for descriptors that become readable.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>

#include "clocks.h"
#include "errors.h"
#include "import.h"
#include "thread.h"

#define FILTER_READ (-1)
#define EV_ADD 1
#define EV_DELETE 2
#define EVENTS 16

struct darwin_kevent {
    uint64_t ident;
    int16_t filter;
    uint16_t flags;
    uint32_t filter_flags;
    int64_t data;
    uint64_t user;
};

struct darwin_kevent64 {
    struct darwin_kevent common;
    uint64_t more[2];
};

/* Darwin's timeval has 32 bits of microseconds, and its sets of 1,024 descriptors are the host's. */
struct darwin_timeval {
    int64_t seconds;
    int32_t microseconds;
};

/* A suspension interrupts the host's call, but not one of a Mac. So each call here ends at a time. */
static uint64_t end_of(const struct timespec *t) {
    return t ? clocks_uptime_ns() + (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec : UINT64_MAX;
}

static uint64_t left_ns(uint64_t end) {
    uint64_t now = clocks_uptime_ns();
    return end > now ? end - now : 0;
}

static int fake_pselect(int n, fd_set *r, fd_set *w, fd_set *e, const struct timespec *t, const void *mask) {
    fd_set *sets[3] = {r, w, e}, given[3];
    uint64_t end = end_of(t);
    int result;
    (void)mask;
    for (int i = 0; i < 3; i++) {
        given[i] = sets[i] ? *sets[i] : (fd_set){0};
    }
    thread_block();
    do {
        for (int i = 0; i < 3; i++) {
            if (sets[i]) {
                *sets[i] = given[i];
            }
        }
        uint64_t left = left_ns(end);
        struct timespec host = {(long)(left / 1000000000u), (long)(left % 1000000000u)};
        result = pselect(n, r, w, e, t ? &host : NULL, NULL);
    } while (result < 0 && errno == EINTR);
    thread_unblock();
    return errors_of(result);
}

static int fake_select(int n, fd_set *r, fd_set *w, fd_set *e, const struct darwin_timeval *t) {
    struct timespec host = {0};
    if (t) {
        host = (struct timespec){t->seconds, t->microseconds * 1000L};
    }
    return fake_pselect(n, r, w, e, t ? &host : NULL, NULL);
}

static int fake_check_fd_set(int fd, const void *set, int unlimited) {
    (void)set;
    return unlimited || (fd >= 0 && fd < FD_SETSIZE);
}

static int fake_kqueue(void) {
    return errors_of(epoll_create1(EPOLL_CLOEXEC));
}

static int change(int queue, const struct darwin_kevent *k) {
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = k->ident};
    if (k->filter != FILTER_READ) {
        return errors_fail(EINVAL);
    }
    return errors_of(
        epoll_ctl(queue, k->flags & EV_DELETE ? EPOLL_CTL_DEL : EPOLL_CTL_ADD, (int)k->ident, &event));
}

/* `stride`: the bytes of an event. */
static int wait_for(int queue, const uint8_t *changes, int count, uint8_t *events, int max, size_t stride,
                    const struct timespec *t) {
    struct epoll_event found[EVENTS];
    for (int i = 0; i < count; i++) {
        if (change(queue, (const void *)(changes + (size_t)i * stride)) != 0) {
            return -1;
        }
    }
    if (max == 0) {
        return 0;
    }
    uint64_t end = end_of(t);
    int result;
    thread_block();
    do {
        int ms = t ? (int)((left_ns(end) + 999999) / 1000000) : -1;
        result = epoll_wait(queue, found, max < EVENTS ? max : EVENTS, ms);
    } while (result < 0 && errno == EINTR);
    thread_unblock();
    for (int i = 0; i < result; i++) {
        *(struct darwin_kevent *)(void *)(events + (size_t)i * stride) = (struct darwin_kevent){
            .ident = found[i].data.u64, .filter = FILTER_READ, .flags = EV_ADD, .data = 1};
    }
    return errors_of(result);
}

static int fake_kevent(int queue, const void *changes, int count, void *events, int max,
                       const struct timespec *t) {
    return wait_for(queue, changes, count, events, max, sizeof(struct darwin_kevent), t);
}

static int fake_kevent64(int queue, const void *changes, int count, void *events, int max, unsigned flags,
                         const struct timespec *t) {
    (void)flags;
    return wait_for(queue, changes, count, events, max, sizeof(struct darwin_kevent64), t);
}

const struct import imports_of_event[] = {
    KERNEL("select", fake_select, 93),
    KERNEL("select$1050", fake_select, 93),
    KERNEL("select$DARWIN_EXTSN", fake_select, 93),
    KERNEL("pselect", fake_pselect, 394),
    KERNEL("pselect$1050", fake_pselect, 394),
    KERNEL("pselect$DARWIN_EXTSN", fake_pselect, 394),
    LIBRARY("__darwin_check_fd_set_overflow", fake_check_fd_set),
    KERNEL("kqueue", fake_kqueue, 362),
    KERNEL("kevent", fake_kevent, 363),
    KERNEL("kevent64", fake_kevent64, 369),
    IMPORT_END,
};
