/* SPDX-License-Identifier: MIT
 * The interposed wait functions. On a watched thread they add two marks around the real call. errno, results,
 * cancellation and exceptions pass through unchanged. Any other thread reads one thread-local variable.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>

#include "os/linux/syscall.h"
#include "preload/interpose/real.h"
#ifdef HD_LINKED /* libhangdog-waits.a */
#include "preload/interpose/stand_ins.h"
#else
#include "preload/attach/attach_state.h"
#include "preload/attach/named_threads.h"
#endif
#include "preload/waits/epoll_generation.h"
#include "preload/waits/wait_table.h"

#define EXPORT __attribute__((visibility("default")))

/* The real functions. Looked up by our constructor, or earlier if another constructor calls one of them. */
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
    int (*accept)(int, __SOCKADDR_ARG, socklen_t *);
    int (*accept4)(int, __SOCKADDR_ARG, socklen_t *, int);
} real;

EARLY void *hd_interpose_look_up(const char *name) {
    int saved = errno;
    void *found = dlsym(RTLD_NEXT, name);
    errno = saved;
    return found;
}

EARLY void hd_interpose_look_up_all(void *functions, const char *names) {
    typedef void *__attribute__((may_alias)) function;
    for (function *to = functions; *names != '\0'; names++) {
        *to++ = hd_interpose_look_up(names);
        for (; *names != '\0'; names++) { /* not strlen, which a sanitized build may not call yet */
        }
    }
}

/* Before glibc 2.35. */
static int no_epoll_pwait2(int epfd, struct epoll_event *events, int max, const struct timespec *timeout,
                           const sigset_t *mask) {
    (void)epfd, (void)events, (void)max, (void)timeout, (void)mask;
    errno = ENOSYS;
    return -1;
}

/* Two threads may run this at once: both store the same values. */
__attribute__((noinline, cold)) void hd_interpose_resolve(void) {
    _Static_assert(sizeof real == 13 * sizeof(void *), "a name for each");
    hd_interpose_look_up_all(&real, "poll\0ppoll\0__poll_chk\0__ppoll_chk\0select\0pselect\0"
                                    "epoll_wait\0epoll_pwait\0epoll_pwait2\0epoll_create\0epoll_create1\0"
                                    "accept\0accept4\0");
    real.epoll_pwait2 = real.epoll_pwait2 != NULL ? real.epoll_pwait2 : no_epoll_pwait2;
    hd_interpose_resolve_process();
    hd_interpose_resolve_signals();
}

#define REAL(member) (real.poll != NULL ? (void)0 : hd_interpose_resolve(), real.member)

/* ---- identity of a set: the descriptor numbers (the array's address moves as it grows) --------- */

#define MIX(hash, value) (((hash) ^ (uint64_t)(value)) * 0xff51afd7ed558ccdULL)
#define SEED 0x9e3779b97f4a7c15ULL

/* Page numbers of addresses that waits of this thread used: a page is checked once. */
#define PAGES_KNOWN 4u
#define PAGE_SHIFT 12
static _Thread_local uintptr_t known_page[PAGES_KNOWN];

/* True: the page can be read. The kernel reads the set of rt_sigprocmask before it refuses the invalid
 * command -1. Under a seccomp filter there is no check: an invalid address then ends the program. */
__attribute__((noinline, cold)) static bool is_mapped(uintptr_t page) {
    if (hd_attach_is_filtered()) {
        return true;
    }
    bool mapped = hd_syscall4(SYS_rt_sigprocmask, -1, page << PAGE_SHIFT, 0, 8) != -EFAULT;
    if (mapped) {
        known_page[page % PAGES_KNOWN] = page;
    }
    return mapped;
}

/* The kernel returns EFAULT for an invalid address, where our read of it would end the program. A page that
 * was unmapped since the thread's last wait passes this check. */
static inline bool is_address(const void *p) {
    uintptr_t page = (uintptr_t)p >> PAGE_SHIFT;
    return page != 0 && (known_page[page % PAGES_KNOWN] == page || is_mapped(page));
}

/* Checks the first and the last byte. */
static inline bool is_there(const void *p, size_t bytes) {
    return is_address(p) && (bytes == 0 || is_address((const char *)p + bytes - 1));
}

static inline uint64_t hash_of_poll(const struct pollfd *fds, nfds_t n) {
    uint64_t hash = SEED;
    for (nfds_t i = 0; i < n && i < HD_WAIT_FDS && is_address(&fds[i]); i++) {
        hash = MIX(hash, (uint32_t)fds[i].fd);
    }
    return hash;
}

__attribute__((noinline, cold)) static struct hd_wait_call call_of_poll(const struct pollfd *fds, nfds_t n) {
    bool there = is_there(fds, (n < FD_SETSIZE ? n : FD_SETSIZE) * sizeof *fds);
    return (struct hd_wait_call){
        .hash = hash_of_poll(fds, n), .poll = there ? fds : NULL, .n = there ? n : 0, .epoll = -1};
}

/* Some programs pass a larger number with sets of this size; the kernel clamps the number. */
static inline int clamped(int n) {
    return n < FD_SETSIZE ? n : FD_SETSIZE;
}

static inline uint64_t hash_of_select(int n, const fd_set *r, const fd_set *w, const fd_set *e) {
    uint64_t hash = SEED;
    const fd_set *sets[] = {r, w, e};
    n = clamped(n);
    for (unsigned s = 0; s < 3; s++) {
        const unsigned long *words = (const unsigned long *)(const void *)sets[s];
        for (int i = 0; i * 64 < n && is_address(words + i); i++) {
            unsigned long valid = n - i * 64 >= 64 ? ~0UL : (1UL << (n - i * 64)) - 1;
            hash = MIX(hash, words[i] & valid);
        }
        hash += s;
    }
    return hash;
}

__attribute__((noinline, cold)) static struct hd_wait_call call_of_select(int n, const fd_set *r,
                                                                          const fd_set *w, const fd_set *e) {
    size_t bytes = n > 0 ? ((size_t)clamped(n) + 63) / 64 * 8 : 0;
    return (struct hd_wait_call){.hash = hash_of_select(n, r, w, e),
                                 .select = {is_there(r, bytes) ? r : NULL, is_there(w, bytes) ? w : NULL,
                                            is_there(e, bytes) ? e : NULL},
                                 .n = n > 0 ? (uint64_t)clamped(n) : 0,
                                 .epoll = -1};
}

static inline uint64_t hash_of_epoll(int epfd) {
    return (uint64_t)(uint32_t)epfd << 32 | hd_epoll_generation(epfd);
}

__attribute__((noinline, cold)) static struct hd_wait_call call_of_epoll(int epfd) {
    uint64_t hash = hash_of_epoll(epfd);
    return (struct hd_wait_call){.hash = hash, .epoll = epfd, .epoll_generation = (uint32_t)hash};
}

static int created(int epfd) {
    if (epfd >= 0) {
        hd_epoll_created(epfd);
    }
    return epfd;
}

static inline bool blocks_for(const struct timespec *t) {
    return t == NULL || !is_address(t) || t->tv_sec != 0 || t->tv_nsec != 0;
}

static inline bool watched(void) {
    return hd_wait_table_self != NULL || (hd_named != NULL && hd_named_watch_caller());
}

__attribute__((visibility("hidden"), used)) int hd_wait_unwound(int version, int actions, uint64_t kind,
                                                                void *exception, void *context) {
    (void)version, (void)kind, (void)exception, (void)context;
    if ((actions & 2) != 0 && hd_wait_table_self != NULL) { /* _UA_CLEANUP_PHASE */
        hd_wait_jumped(hd_wait_table_self);
    }
    return 8; /* _URC_CONTINUE_UNWIND */
}

/* ---- the functions ----------------------------------------------------------------------------- */

#define UNWRAP(...) __VA_ARGS__

// NOLINTBEGIN(bugprone-macro-parentheses): ARGUMENTS brings its own
/* Defines the interposer `name` of the real `member`. OF is the end of two names, hash_OF and call_OF, which
 * read the arguments. Nearly every wait repeats the last one and is the loop's, so that path comes
 * first and needs no stack. `any_name` handles every other wait. */
#define INTERPOSE(name, member, PARAMETERS, ARGUMENTS, OF, BLOCKS)                               \
    static __attribute__((noinline, cold)) int any_##name(const void *caller, const void *frame, \
                                                          UNWRAP PARAMETERS) {                   \
        struct hd_wait_call hd_call = call_##OF;                                                 \
        struct hd_waiting hd_w;                                                                  \
        CALLS_WHEN_UNWOUND;                                                                      \
        hd_wait_begin(&hd_w, &hd_call, BLOCKS, caller, frame);                                   \
        int hd_result = REAL(member) ARGUMENTS;                                                  \
        hd_wait_end(&hd_w);                                                                      \
        return hd_result;                                                                        \
    }                                                                                            \
    EXPORT int name PARAMETERS {                                                                 \
        struct hd_wait_table *hd_t = hd_wait_table_self;                                         \
        CALLS_WHEN_UNWOUND;                                                                      \
        if (hd_t == NULL && !watched()) {                                                        \
            return REAL(member) ARGUMENTS;                                                       \
        }                                                                                        \
        const void *caller = __builtin_return_address(0), *frame = __builtin_dwarf_cfa();        \
        if (hd_t == NULL || !hd_wait_is_the_loops(hd_t, hash_##OF, caller, frame)) {             \
            return any_##name(caller, frame, UNWRAP ARGUMENTS);                                  \
        }                                                                                        \
        if (!(BLOCKS)) {                                                                         \
            int found = real.member ARGUMENTS;                                                   \
            hd_wait_loop_polled(hd_t);                                                           \
            return found;                                                                        \
        }                                                                                        \
        struct hd_wait_entry *hd_entry = hd_t->last.entry;                                       \
        uint64_t hd_began = hd_wait_loop_begin(hd_t);                                            \
        int hd_result = real.member ARGUMENTS;                                                   \
        hd_wait_loop_end(hd_t, hd_entry, hd_began);                                              \
        return hd_result;                                                                        \
    }
// NOLINTEND(bugprone-macro-parentheses)

INTERPOSE(poll, poll, (struct pollfd * fds, nfds_t n, int timeout), (fds, n, timeout), of_poll(fds, n),
          timeout != 0)

/* Other names of poll. They jump to our function, so that return address and frame are the caller's. */
extern __typeof__(poll) own_poll __attribute__((alias("poll"), visibility("hidden")));

EXPORT int __poll(struct pollfd *fds, nfds_t n, int timeout);
EXPORT int __poll(struct pollfd *fds, nfds_t n, int timeout) {
    return own_poll(fds, n, timeout);
}

EXPORT int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t size);
EXPORT int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t size) {
    if (size / sizeof *fds < n) { /* the real function ends the program */
        return REAL(poll_chk)(fds, n, timeout, size);
    }
    return own_poll(fds, n, timeout);
}

INTERPOSE(ppoll, ppoll, (struct pollfd * fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask),
          (fds, n, timeout, mask), of_poll(fds, n), blocks_for(timeout))

extern __typeof__(ppoll) own_ppoll __attribute__((alias("ppoll"), visibility("hidden")));

EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask,
                       size_t size);
EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask,
                       size_t size) {
    if (size / sizeof *fds < n) {
        return REAL(ppoll_chk)(fds, n, timeout, mask, size);
    }
    return own_ppoll(fds, n, timeout, mask);
}

INTERPOSE(select, select, (int n, fd_set *r, fd_set *w, fd_set *e, struct timeval *timeout),
          (n, r, w, e, timeout), of_select(n, r, w, e),
          blocks_for((const struct timespec *)(const void *)timeout))

extern __typeof__(select) own_select __attribute__((alias("select"), visibility("hidden")));

EXPORT int __select(int n, fd_set *r, fd_set *w, fd_set *e, struct timeval *timeout);
EXPORT int __select(int n, fd_set *r, fd_set *w, fd_set *e, struct timeval *timeout) {
    return own_select(n, r, w, e, timeout);
}

INTERPOSE(pselect, pselect,
          (int n, fd_set *r, fd_set *w, fd_set *e, const struct timespec *timeout, const sigset_t *mask),
          (n, r, w, e, timeout, mask), of_select(n, r, w, e), blocks_for(timeout))

INTERPOSE(epoll_wait, epoll_wait, (int epfd, struct epoll_event *events, int max, int timeout),
          (epfd, events, max, timeout), of_epoll(epfd), timeout != 0)

INTERPOSE(epoll_pwait, epoll_pwait,
          (int epfd, struct epoll_event *events, int max, int timeout, const sigset_t *mask),
          (epfd, events, max, timeout, mask), of_epoll(epfd), timeout != 0)

/* glibc has it since 2.35. */
int epoll_pwait2(int epfd, struct epoll_event *events, int max, const struct timespec *timeout,
                 const sigset_t *mask);
INTERPOSE(epoll_pwait2, epoll_pwait2,
          (int epfd, struct epoll_event *events, int max, const struct timespec *timeout,
           const sigset_t *mask),
          (epfd, events, max, timeout, mask), of_epoll(epfd), blocks_for(timeout))

/* ---- a server that waits in accept ---------------------------------------------------------------- */

static inline uint64_t hash_of_accept(int fd) {
    return MIX(~SEED, (uint32_t)fd);
}

/* True: accept would block now. A wait of the loop that found a connection is followed by an accept that does
 * not block, and that is no wait. Makes system calls that leave errno as it is. */
static bool blocks_in_accept(int fd) {
    struct pollfd one = {.fd = fd, .events = POLLIN};
    const struct timespec none = {0};
    return !hd_attach_is_filtered() && (hd_syscall2(SYS_fcntl, fd, F_GETFL) & O_NONBLOCK) == 0 &&
           hd_syscall5(SYS_ppoll, &one, 1, &none, NULL, 0) == 0;
}

/* One descriptor, whose kind is that of a loop: a listening socket. */
static bool begin_accept(struct hd_waiting *w, int fd, const void *caller, const void *frame) {
    uint64_t hash = hash_of_accept(fd);
    const struct pollfd one = {.fd = fd};
    const struct hd_wait_call call = {.hash = hash, .poll = &one, .n = 1, .epoll = -1, .accepts = true};
    struct hd_wait_table *t = hd_wait_table_self;
    if (t == NULL || (!hd_wait_was_idle(t, hash, caller, frame) && !blocks_in_accept(fd))) {
        return false;
    }
    hd_wait_begin(w, &call, true, caller, frame);
    return true;
}

/* Stores the connection: what the thread waits for on it comes from the server's client. */
static int accepted(int listener, int fd) {
    if (fd >= 0 && hd_wait_table_self != NULL) {
        hd_wait_table_self->accepted = fd + 1;
        hd_wait_table_self->listener = listener;
    }
    return fd;
}

// NOLINTBEGIN(bugprone-macro-parentheses): ARGUMENTS brings its own
#define INTERPOSE_ACCEPT(name, PARAMETERS, ARGUMENTS)                                            \
    static __attribute__((noinline, cold)) int any_##name(const void *caller, const void *frame, \
                                                          UNWRAP PARAMETERS) {                   \
        struct hd_waiting hd_w;                                                                  \
        CALLS_WHEN_UNWOUND;                                                                      \
        bool hd_waits = begin_accept(&hd_w, fd, caller, frame);                                  \
        int hd_result = REAL(name) ARGUMENTS;                                                    \
        if (hd_waits) {                                                                          \
            hd_wait_end(&hd_w);                                                                  \
        }                                                                                        \
        return accepted(fd, hd_result);                                                          \
    }                                                                                            \
    EXPORT int name PARAMETERS {                                                                 \
        if (hd_wait_table_self == NULL && !watched()) {                                          \
            return REAL(name) ARGUMENTS;                                                         \
        }                                                                                        \
        return any_##name(__builtin_return_address(0), __builtin_dwarf_cfa(), UNWRAP ARGUMENTS); \
    }
// NOLINTEND(bugprone-macro-parentheses)

INTERPOSE_ACCEPT(accept, (int fd, __SOCKADDR_ARG address, socklen_t *size), (fd, address, size))
INTERPOSE_ACCEPT(accept4, (int fd, __SOCKADDR_ARG address, socklen_t *size, int flags),
                 (fd, address, size, flags))

/* ---- a new instance's number may be an old one's ------------------------------------------------ */

EXPORT int epoll_create(int size) {
    return created(REAL(epoll_create)(size));
}

EXPORT int epoll_create1(int flags) {
    return created(REAL(epoll_create1)(flags));
}
