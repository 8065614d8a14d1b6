// SPDX-License-Identifier: MIT
//
// A loop that is left by an exception from a callback, and entered again.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static int marks;

static void note(const char *kind, const char *state) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    dprintf(marks, "%lld%09ld %s %s -\n", static_cast<long long>(ts.tv_sec), ts.tv_nsec, kind, state);
}

static void callback(int fd, int turn) {
    if (turn % 4 == 3) {
        struct pollfd p = {fd, POLLIN, 0};
        note("begin", "busy");
        poll(&p, 1, 250);
        note("end", "busy");
        throw turn;
    }
}

static void loop(int ep, int fd) {
    struct epoll_event e;
    for (int turn = 0;; turn++) {
        epoll_wait(ep, &e, 1, 100);
        callback(fd, turn);
    }
}

int main() {
    const char *file = std::getenv("HANGDOG_MARKS");
    marks = open(file != nullptr ? file : "/dev/null", O_WRONLY | O_APPEND | O_CLOEXEC);
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) {
        return 3;
    }
    int ep = epoll_create1(EPOLL_CLOEXEC);
    note("from", "idle");
    for (int round = 0; round < 6; round++) {
        try {
            loop(ep, pair[0]);
        } catch (int turn) {
            if (turn != 3) {
                return 1;
            }
        }
    }
}
