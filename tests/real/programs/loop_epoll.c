/* SPDX-License-Identifier: MIT
 *
 * A hand-written loop: an epoll instance with a timer.
 */
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include "schedule.h"

static void arm(int timer, int ms) {
    struct itimerspec when = {.it_value = {ms / 1000, ms % 1000 * 1000000 + 1}};
    timerfd_settime(timer, 0, &when, NULL);
}

int main(int argc, char **argv) {
    int ms = argc > 1 ? first_wait_ms(argv) : -1;
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    int loop = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(loop, EPOLL_CTL_ADD, timer, &event);
    for (; ms >= 0; ms = run_callback()) {
        uint64_t times;
        arm(timer, ms);
        epoll_wait(loop, &event, 1, -1);
        if (read(timer, &times, sizeof(times)) < 0) {
            perror("read");
        }
    }
    return 0;
}
