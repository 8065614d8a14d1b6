/* SPDX-License-Identifier: MIT
 *
 * A program on libev, watched by Hangdog. Each line on standard input is a request: "slow" takes a second,
 * and is a hang. Type it, press Ctrl-D, and then: hangdog list
 *
 *   cc ev.c $(pkg-config --cflags --libs hangdog) -lev -o ev
 */
#include <hangdog/ev.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void handle(const char *request) {
    if (strcmp(request, "slow\n") == 0) {
        sleep(1);
    }
    printf("done: %s", request);
}

static void on_input(struct ev_loop *ev, ev_io *input, int events) {
    char line[256];
    (void)events;
    if (fgets(line, sizeof line, stdin) != NULL) {
        handle(line);
    } else {
        ev_io_stop(ev, input);
    }
}

int main(void) {
    hangdog_options options = {.size = sizeof options};
    options.threshold_ns[HANGDOG_STATE_FOREGROUND] = 500000000;
    hangdog_start(&options);
    struct ev_loop *ev = ev_default_loop(0);
    hangdog_ev *watch = hangdog_ev_watch(ev, "main", 0);

    ev_io input;
    setvbuf(stdin, NULL, _IONBF, 0); /* libev sees no line that is in a buffer */
    ev_io_init(&input, on_input, STDIN_FILENO, EV_READ);
    ev_io_start(ev, &input);
    ev_run(ev, 0);

    hangdog_ev_unwatch(watch);
    return hangdog_stop();
}
