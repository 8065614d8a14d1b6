/* SPDX-License-Identifier: MIT
 *
 * The functions that the recorder interposes, and its constructor. They change nothing but the time that a
 * wait takes: errno and results pass through.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include "recorder/recorder.h"

#define EXPORT __attribute__((visibility("default")))
#define RECORD_VARIABLE "HANGDOG_RECORD="
#define PRELOAD_VARIABLE "LD_PRELOAD="

extern char **environ;

static int64_t ns_of_ms(int ms) {
    return ms < 0 ? -1 : ms * (int64_t)HD_NS_PER_MS;
}

static int64_t ns_of(const struct timespec *t) {
    if (t == NULL) {
        return -1;
    }
    return (t->tv_sec < INT32_MAX ? t->tv_sec : INT32_MAX) * (int64_t)HD_NS_PER_S + t->tv_nsec;
}

static void *look_up(const char *name) {
    int saved = errno;
    void *found = dlsym(RTLD_NEXT, name);
    errno = saved;
    return found;
}

/* Defines the function `name`; the rest says what the wait is for. */
#define RECORD(name, PARAMETERS, ARGUMENTS, ...)                                       \
    EXPORT int name PARAMETERS;                                                        \
    EXPORT int name PARAMETERS {                                                       \
        typedef int function PARAMETERS;                                               \
        static function *real;                                                         \
        real = real != NULL ? real : (function *)look_up(#name);                       \
        hd_recorder_begin(&(struct hd_recorded_wait){.function = #name, __VA_ARGS__}); \
        int result = real ARGUMENTS;                                                   \
        hd_recorder_end(result);                                                       \
        return result;                                                                 \
    }

RECORD(poll, (struct pollfd * fds, nfds_t n, int timeout), (fds, n, timeout), .timeout_ns = ns_of_ms(timeout),
       .fds = fds, .count = n)
RECORD(__poll, (struct pollfd * fds, nfds_t n, int timeout), (fds, n, timeout),
       .timeout_ns = ns_of_ms(timeout), .fds = fds, .count = n)
RECORD(__poll_chk, (struct pollfd * fds, nfds_t n, int timeout, size_t size), (fds, n, timeout, size),
       .timeout_ns = ns_of_ms(timeout), .fds = fds, .count = n)
RECORD(ppoll, (struct pollfd * fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask),
       (fds, n, timeout, mask), .timeout_ns = ns_of(timeout), .fds = fds, .count = n)
RECORD(__ppoll_chk,
       (struct pollfd * fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask, size_t size),
       (fds, n, timeout, mask, size), .timeout_ns = ns_of(timeout), .fds = fds, .count = n)
RECORD(select, (int n, fd_set *r, fd_set *w, fd_set *e, struct timeval *timeout), (n, r, w, e, timeout),
       .timeout_ns = timeout == NULL ? -1
                                     : ns_of(&(struct timespec){timeout->tv_sec, timeout->tv_usec * 1000}),
       .count = (uint64_t)n, .sets = {r, w, e})
RECORD(pselect,
       (int n, fd_set *r, fd_set *w, fd_set *e, const struct timespec *timeout, const sigset_t *mask),
       (n, r, w, e, timeout, mask), .timeout_ns = ns_of(timeout), .count = (uint64_t)n, .sets = {r, w, e})
RECORD(epoll_wait, (int epfd, struct epoll_event *events, int max, int timeout), (epfd, events, max, timeout),
       .timeout_ns = ns_of_ms(timeout), .epoll = &epfd)
RECORD(epoll_pwait, (int epfd, struct epoll_event *events, int max, int timeout, const sigset_t *mask),
       (epfd, events, max, timeout, mask), .timeout_ns = ns_of_ms(timeout), .epoll = &epfd)
RECORD(epoll_pwait2,
       (int epfd, struct epoll_event *events, int max, const struct timespec *timeout, const sigset_t *mask),
       (epfd, events, max, timeout, mask), .timeout_ns = ns_of(timeout), .epoll = &epfd)

/* Tcl's and SDL's own waits, as the preload interposes them. The caller's library has the function, or is
 * linked with the one that does. */
static void *look_up_of(const char *name, const void *caller) {
    Dl_info info;
    struct link_map *map = NULL;
    void *found = look_up(name);
    if (found == NULL && dladdr1(caller, &info, (void **)&map, RTLD_DL_LINKMAP) != 0 && map != NULL) {
        void *handle = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
        found = handle != NULL ? dlsym(handle, name) : NULL;
    }
    return found;
}

// A parameter that initializes a member needs no parentheses. NOLINTBEGIN(bugprone-macro-parentheses)
#define RECORD_LIBRARY(name, PARAMETERS, ARGUMENTS, letter, ns)                                  \
    EXPORT int name PARAMETERS;                                                                  \
    EXPORT int name PARAMETERS {                                                                 \
        typedef int function PARAMETERS;                                                         \
        static function *real;                                                                   \
        real = real != NULL ? real : (function *)look_up_of(#name, __builtin_return_address(0)); \
        if (real == NULL) {                                                                      \
            return 0;                                                                            \
        }                                                                                        \
        hd_recorder_begin(                                                                       \
            &(struct hd_recorded_wait){.function = #name, .library = letter, .timeout_ns = ns}); \
        hd_recorder_enter();                                                                     \
        int result = real ARGUMENTS;                                                             \
        hd_recorder_leave();                                                                     \
        hd_recorder_end(result);                                                                 \
        return result;                                                                           \
    }
// NOLINTEND(bugprone-macro-parentheses)

RECORD_LIBRARY(Tcl_WaitForEvent, (const long *time), (time), 'T',
               time == NULL ? -1 : time[0] * (int64_t)HD_NS_PER_S + time[1] * 1000)
RECORD_LIBRARY(SDL_WaitEvent, (void *event), (event), 'S', -1)
RECORD_LIBRARY(SDL_WaitEventTimeout, (void *event, int ms), (event, ms), 'S', ns_of_ms(ms))
RECORD_LIBRARY(SDL_PollEvent, (void *event), (event), 'S', HD_NS_PER_MS)
RECORD_LIBRARY(SDL_PumpEvents, (void), (), 'S', HD_NS_PER_MS)

EXPORT int epoll_create(int size) {
    int (*real)(int) = (int (*)(int))look_up("epoll_create");
    int epfd = real(size);
    hd_recorder_epoll(epfd);
    return epfd;
}

EXPORT int epoll_create1(int flags) {
    int (*real)(int) = (int (*)(int))look_up("epoll_create1");
    int epfd = real(flags);
    hd_recorder_epoll(epfd);
    return epfd;
}

/* Takes a variable out of the environment, so that no child is recorded too. NULL: it is not there. */
static const char *take_variable(const char *name) {
    for (char **e = environ; e != NULL && *e != NULL; e++) {
        if (strncmp(*e, name, strlen(name)) == 0) {
            const char *value = *e + strlen(name);
            for (; *e != NULL; e++) {
                e[0] = e[1];
            }
            return value;
        }
    }
    return NULL;
}

__attribute__((constructor(101))) static void start(void) {
    const char *file = take_variable(RECORD_VARIABLE);
    take_variable(PRELOAD_VARIABLE);
    if (file != NULL) {
        hd_recorder_start(file);
    }
}
