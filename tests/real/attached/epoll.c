/* SPDX-License-Identifier: MIT
 *
 * A loop on an epoll instance. Built with musl it is static.
 */
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include "requests.h"

int main(int argc, char **argv) {
    long ms = argc > 1 ? atol(argv[1]) : 0;
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK), loop = epoll_create1(0);
    struct epoll_event of_timer = {.events = EPOLLIN, .data.fd = timer}, of_input = {.events = EPOLLIN},
                       event;
    struct itimerspec period = {{ms / 1000, ms % 1000 * 1000000}, {ms / 1000, ms % 1000 * 1000000}};
    epoll_ctl(loop, EPOLL_CTL_ADD, timer, &of_timer);
    epoll_ctl(loop, EPOLL_CTL_ADD, STDIN_FILENO, &of_input);
    timerfd_settime(timer, 0, &period, NULL);
    say("ready\n");
    for (;;) {
        uint64_t times;
        int n = epoll_wait(loop, &event, 1, -1);
        interrupted += n < 0 && errno == EINTR;
        if (n == 1 && event.data.fd == timer) {
            n = (int)read(timer, &times, sizeof times);
        } else if (n == 1 && serve() < 0) {
            return 0;
        }
    }
}
