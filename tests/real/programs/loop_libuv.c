/* SPDX-License-Identifier: MIT
 *
 * libuv's loop with a timer.
 */
#include <stdint.h>

#include "schedule.h"

void *uv_default_loop(void);
int uv_run(void *loop, int mode);
size_t uv_handle_size(int type);
int uv_timer_init(void *loop, void *timer);
int uv_timer_start(void *timer, void (*call)(void *timer), uint64_t timeout_ms, uint64_t repeat_ms);
void uv_update_time(void *loop);
#define UV_TIMER 13

static void on_timer(void *timer) {
    int ms = run_callback();
    if (ms >= 0) {
        uv_update_time(uv_default_loop());
        uv_timer_start(timer, on_timer, (uint64_t)ms, 0);
    }
}

int main(int argc, char **argv) {
    if (argc > 1) {
        void *timer = calloc(1, uv_handle_size(UV_TIMER));
        uv_timer_init(uv_default_loop(), timer);
        uv_timer_start(timer, on_timer, (uint64_t)first_wait_ms(argv), 0);
        uv_run(uv_default_loop(), 0);
        free(timer);
    }
    return 0;
}
