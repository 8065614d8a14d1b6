/* SPDX-License-Identifier: MIT
 *
 * libev's loop with a timer.
 */
#include "schedule.h"

void *ev_default_loop(unsigned flags);
int ev_run(void *loop, int flags);
void ev_once(void *loop, int fd, int events, double timeout_s, void (*call)(int events, void *data),
             void *data);
void ev_now_update(void *loop);

static void on_timer(int events, void *loop) {
    int ms = run_callback();
    (void)events;
    if (ms >= 0) {
        ev_now_update(loop);
        ev_once(loop, -1, 0, ms / 1000.0, on_timer, loop);
    }
}

int main(int argc, char **argv) {
    if (argc > 1) {
        void *loop = ev_default_loop(0);
        ev_once(loop, -1, 0, first_wait_ms(argv) / 1000.0, on_timer, loop);
        ev_run(loop, 0);
    }
    return 0;
}
