/* SPDX-License-Identifier: MIT
 *
 * A program on libevent, watched by Hangdog. Each line on standard input is a request: "slow" takes a second,
 * and is a hang. Type it, press Ctrl-D, and then: hangdog list
 *
 *   cc libevent.c $(pkg-config --cflags --libs hangdog libevent_core) -o libevent
 */
#include <hangdog/libevent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void handle(const char *request) {
    if (strcmp(request, "slow\n") == 0) {
        sleep(1);
    }
    printf("done: %s", request);
}

static void on_input(evutil_socket_t fd, short events, void *base) {
    char line[256];
    (void)fd;
    (void)events;
    if (fgets(line, sizeof line, stdin) != NULL) {
        handle(line);
    } else {
        event_base_loopbreak((struct event_base *)base);
    }
}

int main(void) {
    hangdog_options options = {.size = sizeof options};
    options.threshold_ns[HANGDOG_STATE_FOREGROUND] = 500000000;
    hangdog_start(&options);
    struct event_base *base = event_base_new();
    hangdog_libevent *watch = hangdog_libevent_watch(base, "main", 0);

    setvbuf(stdin, NULL, _IONBF, 0); /* libevent sees no line that is in a buffer */
    struct event *input = event_new(base, STDIN_FILENO, EV_READ | EV_PERSIST, on_input, base);
    event_add(input, NULL);
    event_base_dispatch(base);
    event_free(input);

    hangdog_libevent_unwatch(watch);
    event_base_free(base);
    return hangdog_stop();
}
