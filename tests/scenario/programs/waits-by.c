/* SPDX-License-Identifier: MIT
 *
 * A loop that waits by the function that is named, by its own name in the C library, and hangs once: waits-by
 * FUNCTION. Its array and its set are on main's stack. With "overflow" it gives a checked one more
 * descriptors than its array has; with "no-address" it waits for what is behind addresses that are none, and
 * nothing else.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define UNCHANGED 77 /* errno */

/* As compilers and older programs call them: no header has them all. */
int libc_poll(struct pollfd *fds, nfds_t n, int timeout) __asm__("__poll");
int libc_poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t size) __asm__("__poll_chk");
int libc_ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask,
                   size_t size) __asm__("__ppoll_chk");
int libc_select(int n, fd_set *r, fd_set *w, fd_set *e, struct timeval *timeout) __asm__("__select");
int libc_epoll_pwait2(int epfd, struct epoll_event *events, int max, const struct timespec *timeout,
                      const sigset_t *mask) __asm__("epoll_pwait2");

static const struct timespec timeout = {.tv_nsec = 50 * 1000000};
static struct pollfd *polled; /* one */
static fd_set *set;
static struct epoll_event event;
static int fd, epfd;
static nfds_t count = 1;

static fd_set *readable(void) {
    FD_ZERO(set);
    FD_SET(fd, set);
    return set;
}

static int by_poll(void) {
    return poll(polled, 1, 50);
}
static int by_libc_poll(void) {
    return libc_poll(polled, 1, 50);
}
static int by_poll_chk(void) {
    return libc_poll_chk(polled, count, 50, sizeof *polled);
}
static int by_ppoll(void) {
    return ppoll(polled, 1, &timeout, NULL);
}
static int by_ppoll_chk(void) {
    return libc_ppoll_chk(polled, count, &timeout, NULL, sizeof *polled);
}
static int by_select(void) {
    return select(fd + 1, readable(), NULL, NULL, &(struct timeval){.tv_usec = 50000});
}
static int by_libc_select(void) {
    return libc_select(fd + 1, readable(), NULL, NULL, &(struct timeval){.tv_usec = 50000});
}
static int by_pselect(void) {
    return pselect(fd + 1, readable(), NULL, NULL, &timeout, NULL);
}
static int by_epoll_wait(void) {
    return epoll_wait(epfd, &event, 1, 50);
}
static int by_epoll_pwait(void) {
    return epoll_pwait(epfd, &event, 1, 50, NULL);
}
static int by_epoll_pwait2(void) {
    return libc_epoll_pwait2(epfd, &event, 1, &timeout, NULL);
}

static const struct {
    const char *name;
    int (*wait)(void);
} functions[] = {
    {"poll", by_poll},
    {"__poll", by_libc_poll},
    {"__poll_chk", by_poll_chk},
    {"ppoll", by_ppoll},
    {"__ppoll_chk", by_ppoll_chk},
    {"select", by_select},
    {"__select", by_libc_select},
    {"pselect", by_pselect},
    {"epoll_wait", by_epoll_wait},
    {"epoll_pwait", by_epoll_pwait},
    {"epoll_pwait2", by_epoll_pwait2},
};

static __attribute__((noinline)) void block(void) {
    nanosleep(&(struct timespec){.tv_nsec = 800 * 1000000}, NULL);
    __asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void wait_for(struct pollfd *array, fd_set *descriptors) {
    polled = array;
    set = descriptors;
}

/* False: it does not wait, or a wait that does not fail changes errno. */
static int turns(int (*wait)(void), int n) {
    for (int i = 0; i < n; i++) {
        errno = UNCHANGED;
        if (wait() != 0 || errno != UNCHANGED) {
            return 0;
        }
    }
    return 1;
}

/* Small numbers, the last page that no program has, what is beyond: the kernel's own answer to each. */
static int at_no_address(void) {
    static void *volatile const none[] = {(void *)8, (void *)-1, (void *)0x7ffffffff000,
                                          (void *)0x800000000000};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        errno = 0;
        int polls = poll(none[i], 1, 1), polled_errno = errno;
        errno = 0;
        int selects = select(1, none[i], NULL, NULL, &(struct timeval){.tv_usec = 1000});
        printf("%d %d, %d %d\n", polls, polled_errno, selects, errno);
    }
    return 0;
}

int main(int argc, char **argv) {
    struct pollfd here = {.events = POLLIN};
    fd_set set_here;
    const struct itimerspec soon = {.it_value.tv_nsec = 1};
    int (*wait)(void) = NULL;
    wait_for(&here, &set_here);
    if (argc > 1 && strcmp(argv[1], "no-address") == 0) {
        return at_no_address();
    }
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        if (argc > 1 && strcmp(functions[i].name, argv[1]) == 0) {
            wait = functions[i].wait;
        }
    }
    if (wait == NULL || (fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)) < 0) {
        return 2;
    }
    count = argc > 2 ? 2 : 1;
    polled[0].fd = fd;
    epfd = epoll_create1(EPOLL_CLOEXEC);
    epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &(struct epoll_event){.events = EPOLLIN});
    if (!turns(wait, 30)) {
        return 1;
    }
    block();
    if (!turns(wait, 6) || timerfd_settime(fd, 0, &soon, NULL) != 0) {
        return 1;
    }
    if (wait() != 1 || errno != UNCHANGED) { /* what is there is told */
        return 1;
    }
    puts("done");
    return 3;
}
