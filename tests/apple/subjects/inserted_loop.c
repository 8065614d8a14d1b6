/* SPDX-License-Identifier: MIT
 *
 * A program with a run loop that knows nothing of Hangdog. A timer works for 5 ms, or once for 700 ms in a
 * known function. "poll": the timer also waits in poll, which is a part of the turn.
 *
 *   inserted_loop FOLDER idle|hang|poll
 */
#include <CoreFoundation/CFRunLoop.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "subject.h"

static const char *what;
static int fired;

static void spin_ms(unsigned ms) {
    uint64_t until = now_ns() + ms * 1000000ull;
    volatile unsigned turns = 0;
    while (now_ns() < until) {
        for (unsigned i = 0; i < 20000; i++) {
            turns = turns + i;
        }
    }
}

__attribute__((noinline)) static void layout_views(unsigned ms) {
    spin_ms(ms);
    __asm__ volatile("");
}

__attribute__((noinline)) static void ask_server(unsigned ms) {
    int reply[2];
    CHECK_EQUAL(0, pipe(reply));
    struct pollfd fd = {.fd = reply[0], .events = POLLIN};
    for (unsigned i = 0; i < 7; i++) {
        CHECK_EQUAL(0, poll(&fd, 1, (int)ms / 7));
    }
    close(reply[0]);
    close(reply[1]);
}

static void fire(CFRunLoopTimerRef timer, void *info) {
    (void)timer, (void)info;
    if (++fired == 8 && strcmp(what, "hang") == 0) {
        layout_views(700);
    } else if (fired == 8 && strcmp(what, "poll") == 0) {
        ask_server(700);
    } else {
        spin_ms(5);
    }
}

int main(int argc, char **argv) {
    CHECK_EQUAL(3, argc);
    CHECK(getenv("HANGDOG_RUN") == NULL);
    what = argv[2];
    CFRunLoopTimerRef timer =
        CFRunLoopTimerCreate(NULL, CFAbsoluteTimeGetCurrent() + 0.05, 0.05, 0, 0, fire, NULL);
    CFRunLoopAddTimer(CFRunLoopGetCurrent(), timer, kCFRunLoopDefaultMode);
    while (fired < 16) {
        CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0.5, 0);
    }
    return failed_checks ? 1 : 0;
}
