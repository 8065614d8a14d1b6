/* SPDX-License-Identifier: MIT
 *
 * A program that knows nothing of Hangdog: its loop waits in poll, select, kevent or kevent64. Between two
 * waits of 50 ms it works: for 5 ms, or once for 700 ms in a known function.
 *
 *   inserted FOLDER poll|select|kevent|kevent64 idle|hang|call
 *
 * "call": the loop's callback waits in another poll for 700 ms.
 */
#include <poll.h>
#include <stdlib.h>
#include <sys/event.h>
#include <sys/select.h>
#include <unistd.h>

#include "subject.h"

#define WAIT_MS 50

static int channel[2], queue;

static void spin_ms(unsigned ms) {
    uint64_t until = now_ns() + ms * 1000000ull;
    volatile unsigned turns = 0;
    while (now_ns() < until) {
        for (unsigned i = 0; i < 20000; i++) {
            turns = turns + i;
        }
    }
}

__attribute__((noinline)) static void parse_document(unsigned ms) {
    spin_ms(ms);
    __asm__ volatile("");
}

__attribute__((noinline)) static void read_reply(unsigned ms) {
    int reply[2];
    CHECK_EQUAL(0, pipe(reply));
    struct pollfd fd = {.fd = reply[0], .events = POLLIN};
    CHECK_EQUAL(0, poll(&fd, 1, (int)ms));
    close(reply[0]);
    close(reply[1]);
}

static int wait_for_events(const char *how) {
    struct timespec t = {0, WAIT_MS * 1000000};
    if (strcmp(how, "poll") == 0) {
        struct pollfd fd = {.fd = channel[0], .events = POLLIN};
        return poll(&fd, 1, WAIT_MS);
    }
    if (strcmp(how, "select") == 0) {
        struct timeval tv = {0, WAIT_MS * 1000};
        fd_set set;
        FD_ZERO(&set);
        FD_SET(channel[0], &set);
        return select(channel[0] + 1, &set, NULL, NULL, &tv);
    }
    if (strcmp(how, "kevent") == 0) {
        struct kevent event;
        return kevent(queue, NULL, 0, &event, 1, &t);
    }
    struct kevent64_s event;
    return kevent64(queue, NULL, 0, &event, 1, 0, &t);
}

int main(int argc, char **argv) {
    CHECK_EQUAL(4, argc);
    CHECK(getenv("HANGDOG_RUN") == NULL);
    CHECK(getenv("DYLD_INSERT_LIBRARIES") == NULL);
    queue = kqueue();
    CHECK(queue >= 0 && pipe(channel) == 0);
    struct kevent change;
    EV_SET(&change, channel[0], EVFILT_READ, EV_ADD, 0, 0, NULL);
    CHECK_EQUAL(0, kevent(queue, &change, 1, NULL, 0, NULL));
    for (int i = 0; i < 30; i++) {
        CHECK_EQUAL(0, wait_for_events(argv[2]));
        if (i == 15 && strcmp(argv[3], "hang") == 0) {
            parse_document(700);
        } else if (i == 15 && strcmp(argv[3], "call") == 0) {
            read_reply(700);
        } else {
            spin_ms(5);
        }
    }
    return failed_checks ? 1 : 0;
}
