/* SPDX-License-Identifier: MIT
 *
 * libevent's loop with a timer.
 */
#include <sys/time.h>

#include "schedule.h"

void *event_base_new(void);
int event_base_dispatch(void *base);
int event_base_once(void *base, int fd, short events, void (*call)(int, short, void *), void *data,
                    const struct timeval *timeout);
#define EV_TIMEOUT 1

static void start_timer(void *base, int ms);

static void on_timer(int fd, short events, void *base) {
    int ms = run_callback();
    (void)fd, (void)events;
    if (ms >= 0) {
        start_timer(base, ms);
    }
}

static void start_timer(void *base, int ms) {
    struct timeval timeout = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
    event_base_once(base, -1, EV_TIMEOUT, on_timer, base, &timeout);
}

int main(int argc, char **argv) {
    if (argc > 1) {
        void *base = event_base_new();
        start_timer(base, first_wait_ms(argv));
        event_base_dispatch(base);
    }
    return 0;
}
