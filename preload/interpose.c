/* SPDX-License-Identifier: MIT
 *
 * The interposed wait functions. Watched thread: they add two marks around the real call and change nothing
 * else: errno, results, cancellation and exceptions pass through. Other threads take one look at a
 * thread-local and go on.
 */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>

#include "interpose.h"
#include "named.h"
#include "recorder.h"
#include "waits.h"

#define EXPORT __attribute__((visibility("default")))

/* The real functions: looked up before any constructor of the program's needs them, at the latest at the
 * first call. */
static struct {
    int (*poll)(struct pollfd *, nfds_t, int);
    int (*ppoll)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
    int (*poll_chk)(struct pollfd *, nfds_t, int, size_t);
    int (*ppoll_chk)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *, size_t);
    int (*select)(int, fd_set *, fd_set *, fd_set *, struct timeval *);
    int (*pselect)(int, fd_set *, fd_set *, fd_set *, const struct timespec *, const sigset_t *);
    int (*epoll_wait)(int, struct epoll_event *, int, int);
    int (*epoll_pwait)(int, struct epoll_event *, int, int, const sigset_t *);
    int (*epoll_pwait2)(int, struct epoll_event *, int, const struct timespec *, const sigset_t *);
    int (*epoll_create)(int);
    int (*epoll_create1)(int);
} real;

void *hd_interpose_look_up(const char *name) {
    int saved = errno;
    void *found = dlsym(RTLD_NEXT, name);
    errno = saved;
    return found;
}

/* Two threads may both do it: they store the same. */
void hd_interpose_resolve(void) {
#define RESOLVE(member, name) real.member = (__typeof__(real.member))hd_interpose_look_up(name)
    RESOLVE(poll, "poll");
    RESOLVE(ppoll, "ppoll");
    RESOLVE(poll_chk, "__poll_chk");
    RESOLVE(ppoll_chk, "__ppoll_chk");
    RESOLVE(select, "select");
    RESOLVE(pselect, "pselect");
    RESOLVE(epoll_wait, "epoll_wait");
    RESOLVE(epoll_pwait, "epoll_pwait");
    RESOLVE(epoll_pwait2, "epoll_pwait2");
    RESOLVE(epoll_create, "epoll_create");
    RESOLVE(epoll_create1, "epoll_create1");
#undef RESOLVE
    hd_interpose_resolve_process();
    hd_interpose_resolve_signals();
}

#define REAL(member) (real.poll != NULL ? (void)0 : hd_interpose_resolve(), real.member)

/* ---- identity of a set: the descriptor numbers (the array's address moves as it grows) --------- */

#define MIX(hash, value) (((hash) ^ (uint64_t)(value)) * 0xff51afd7ed558ccdULL)
#define SEED 0x9e3779b97f4a7c15ULL

static struct hd_wait_set set_of_poll(const struct pollfd *fds, nfds_t n) {
    uint64_t hash = SEED;
    for (nfds_t i = 0; fds != NULL && i < n && i < HD_WAIT_FDS; i++) {
        hash = MIX(hash, (uint32_t)fds[i].fd);
    }
    return (struct hd_wait_set){.hash = hash, .poll = fds, .n = n, .epoll = -1};
}

static struct hd_wait_set set_of_select(int n, const fd_set *r, const fd_set *w, const fd_set *e) {
    uint64_t hash = SEED;
    const fd_set *sets[] = {r, w, e};
    n = n < FD_SETSIZE
            ? n
            : FD_SETSIZE; /* programs pass larger ones with sets of this size: the kernel clamps them */
    for (unsigned s = 0; s < 3; s++) {
        const unsigned long *words = (const unsigned long *)(const void *)sets[s];
        for (int i = 0; words != NULL && i * 64 < n; i++) {
            unsigned long valid = n - i * 64 >= 64 ? ~0UL : (1UL << (n - i * 64)) - 1;
            hash = MIX(hash, words[i] & valid);
        }
        hash += s;
    }
    return (struct hd_wait_set){.hash = hash, .select = {r, w, e}, .n = n > 0 ? (uint64_t)n : 0, .epoll = -1};
}

/* Numbers are reused at once, and the kernel shows no identity of an epoll instance: each creation counts.
 * Numbers above share counters, which can only make one instance look like two. */
static _Atomic uint32_t epoll_generation[1024];

static struct hd_wait_set set_of_epoll(int epfd) {
    uint32_t generation =
        atomic_load_explicit(&epoll_generation[(uint32_t)epfd % 1024], memory_order_relaxed);
    return (struct hd_wait_set){
        .hash = (uint64_t)(uint32_t)epfd << 32 | generation, .epoll = epfd, .epoll_generation = generation};
}

static int created(int epfd) {
    if (epfd >= 0) {
        atomic_fetch_add_explicit(&epoll_generation[epfd % 1024], 1, memory_order_relaxed);
    }
    return epfd;
}

static bool blocks_for(const struct timespec *t) {
    return t == NULL || t->tv_sec != 0 || t->tv_nsec != 0;
}

/* The result of `call`, made between begin and end. */
#define AROUND(set, blocks, call)                                                                \
    ({                                                                                           \
        struct hd_waiting hd_w;                                                                  \
        struct hd_wait_set hd_s = (set);                                                         \
        hd_wait_begin(&hd_w, &hd_s, blocks, __builtin_return_address(0), __builtin_dwarf_cfa()); \
        int hd_result = (call);                                                                  \
        if (__builtin_expect(hd_recorder_on, 0)) {                                               \
            hd_recorder_end(hd_result);                                                          \
        }                                                                                        \
        hd_wait_end(&hd_w);                                                                      \
        hd_result;                                                                               \
    })

static inline bool watched(void) {
    return hd_waits_self != NULL || hd_recorder_on || (hd_named != NULL && hd_named_look());
}

/* What the recorder wants to know of a wait, in a debug mode. */
#define NOTE(...)                                                                             \
    do {                                                                                      \
        if (__builtin_expect(hd_recorder_on, 0)) {                                            \
            hd_recorder_begin(&(struct hd_recorded_wait){.function = __func__, __VA_ARGS__}); \
        }                                                                                     \
    } while (0)

static int64_t ns_of_ms(int ms) {
    return ms < 0 ? -1 : ms * (int64_t)HD_NS_PER_MS;
}

static int64_t ns_of(const struct timespec *t) {
    if (t == NULL) {
        return -1;
    }
    return (t->tv_sec < INT32_MAX ? t->tv_sec : INT32_MAX) * (int64_t)HD_NS_PER_S + t->tv_nsec;
}

/* ---- the functions ----------------------------------------------------------------------------- */

EXPORT int poll(struct pollfd *fds, nfds_t n, int timeout) {
    if (!watched()) {
        return REAL(poll)(fds, n, timeout);
    }
    NOTE(.timeout_ns = ns_of_ms(timeout), .fds = fds, .count = n);
    return AROUND(set_of_poll(fds, n), timeout != 0, REAL(poll)(fds, n, timeout));
}

EXPORT int __poll(struct pollfd *fds, nfds_t n, int timeout);
EXPORT int __poll(struct pollfd *fds, nfds_t n, int timeout) {
    return poll(fds, n, timeout);
}

EXPORT int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t size);
EXPORT int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t size) {
    if (!watched()) {
        return REAL(poll_chk)(fds, n, timeout, size);
    }
    NOTE(.timeout_ns = ns_of_ms(timeout), .fds = fds, .count = n);
    return AROUND(set_of_poll(fds, n), timeout != 0, REAL(poll_chk)(fds, n, timeout, size));
}

EXPORT int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask) {
    if (!watched()) {
        return REAL(ppoll)(fds, n, timeout, mask);
    }
    NOTE(.timeout_ns = ns_of(timeout), .fds = fds, .count = n);
    return AROUND(set_of_poll(fds, n), blocks_for(timeout), REAL(ppoll)(fds, n, timeout, mask));
}

EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask,
                       size_t size);
EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask,
                       size_t size) {
    if (!watched()) {
        return REAL(ppoll_chk)(fds, n, timeout, mask, size);
    }
    NOTE(.timeout_ns = ns_of(timeout), .fds = fds, .count = n);
    return AROUND(set_of_poll(fds, n), blocks_for(timeout), REAL(ppoll_chk)(fds, n, timeout, mask, size));
}

EXPORT int select(int n, fd_set *r, fd_set *w, fd_set *e, struct timeval *timeout) {
    if (!watched()) {
        return REAL(select)(n, r, w, e, timeout);
    }
    bool blocks = timeout == NULL || timeout->tv_sec != 0 || timeout->tv_usec != 0;
    NOTE(.timeout_ns =
             timeout == NULL ? -1 : ns_of(&(struct timespec){timeout->tv_sec, timeout->tv_usec * 1000}),
         .count = (uint64_t)n, .sets = {r, w, e});
    return AROUND(set_of_select(n, r, w, e), blocks, REAL(select)(n, r, w, e, timeout));
}

EXPORT int __select(int n, fd_set *r, fd_set *w, fd_set *e, struct timeval *timeout);
EXPORT int __select(int n, fd_set *r, fd_set *w, fd_set *e, struct timeval *timeout) {
    return select(n, r, w, e, timeout);
}

EXPORT int pselect(int n, fd_set *r, fd_set *w, fd_set *e, const struct timespec *timeout,
                   const sigset_t *mask) {
    if (!watched()) {
        return REAL(pselect)(n, r, w, e, timeout, mask);
    }
    NOTE(.timeout_ns = ns_of(timeout), .count = (uint64_t)n, .sets = {r, w, e});
    return AROUND(set_of_select(n, r, w, e), blocks_for(timeout), REAL(pselect)(n, r, w, e, timeout, mask));
}

EXPORT int epoll_wait(int epfd, struct epoll_event *events, int max, int timeout) {
    if (!watched()) {
        return REAL(epoll_wait)(epfd, events, max, timeout);
    }
    NOTE(.timeout_ns = ns_of_ms(timeout), .epoll = &epfd);
    return AROUND(set_of_epoll(epfd), timeout != 0, REAL(epoll_wait)(epfd, events, max, timeout));
}

EXPORT int epoll_pwait(int epfd, struct epoll_event *events, int max, int timeout, const sigset_t *mask) {
    if (!watched()) {
        return REAL(epoll_pwait)(epfd, events, max, timeout, mask);
    }
    NOTE(.timeout_ns = ns_of_ms(timeout), .epoll = &epfd);
    return AROUND(set_of_epoll(epfd), timeout != 0, REAL(epoll_pwait)(epfd, events, max, timeout, mask));
}

EXPORT int epoll_pwait2(int epfd, struct epoll_event *events, int max, const struct timespec *timeout,
                        const sigset_t *mask) {
    if (!watched()) {
        return REAL(epoll_pwait2)(epfd, events, max, timeout, mask);
    }
    NOTE(.timeout_ns = ns_of(timeout), .epoll = &epfd);
    return AROUND(set_of_epoll(epfd), blocks_for(timeout),
                  REAL(epoll_pwait2)(epfd, events, max, timeout, mask));
}

/* ---- a new instance's number may be an old one's ------------------------------------------------ */

EXPORT int epoll_create(int size) {
    int epfd = created(REAL(epoll_create)(size));
    if (__builtin_expect(hd_recorder_on, 0)) {
        hd_recorder_epoll(epfd);
    }
    return epfd;
}

EXPORT int epoll_create1(int flags) {
    int epfd = created(REAL(epoll_create1)(flags));
    if (__builtin_expect(hd_recorder_on, 0)) {
        hd_recorder_epoll(epfd);
    }
    return epfd;
}
