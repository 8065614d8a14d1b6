/* SPDX-License-Identifier: MIT
 *
 * GLib's main loop with a timer.
 */
#include "schedule.h"

void *g_main_loop_new(void *context, int running);
void g_main_loop_run(void *loop);
void g_main_loop_quit(void *loop);
unsigned g_timeout_add(unsigned ms, int (*call)(void *), void *data);

static int on_timer(void *loop) {
    int ms = run_callback();
    if (ms < 0) {
        g_main_loop_quit(loop);
    } else {
        g_timeout_add((unsigned)ms, on_timer, loop);
    }
    return 0;
}

int main(int argc, char **argv) {
    void *loop = g_main_loop_new(NULL, 0);
    if (argc > 1) {
        g_timeout_add((unsigned)first_wait_ms(argv), on_timer, loop);
        g_main_loop_run(loop);
    }
    return 0;
}
