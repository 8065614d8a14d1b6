/* SPDX-License-Identifier: MIT
 *
 * systemd's loop with a timer.
 */
#include <stdint.h>

#include "schedule.h"

int sd_event_default(void **event);
int sd_event_loop(void *event);
int sd_event_exit(void *event, int status);
int sd_event_add_time(void *event, void **source, int clock, uint64_t us, uint64_t accuracy_us,
                      int (*call)(void *source, uint64_t us, void *data), void *data);

static int start_timer(void *event, int ms);

static int on_timer(void *source, uint64_t us, void *event) {
    int ms = run_callback();
    (void)source, (void)us;
    return ms < 0 ? sd_event_exit(event, 0) : start_timer(event, ms);
}

static int start_timer(void *event, int ms) {
    uint64_t at_us = (uint64_t)(monotonic_ns() / 1000 + ms * 1000LL);
    return sd_event_add_time(event, NULL, CLOCK_MONOTONIC, at_us, 1, on_timer, event);
}

int main(int argc, char **argv) {
    void *event;
    if (argc > 1 && sd_event_default(&event) >= 0) {
        start_timer(event, first_wait_ms(argv));
        sd_event_loop(event);
    }
    return 0;
}
