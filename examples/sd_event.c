/* SPDX-License-Identifier: MIT
 *
 * A program on sd-event, watched by Hangdog. Each line on standard input is a request: "slow" takes a second,
 * and is a hang. Type it, press Ctrl-D, and then: hangdog list
 *
 *   cc sd_event.c $(pkg-config --cflags --libs hangdog libsystemd) -o sd_event
 */
#include <hangdog/sd_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

static void handle(const char *request) {
    if (strcmp(request, "slow\n") == 0) {
        sleep(1);
    }
    printf("done: %s", request);
}

static int on_input(sd_event_source *input, int fd, uint32_t events, void *data) {
    char line[256];
    (void)fd;
    (void)events;
    (void)data;
    if (fgets(line, sizeof line, stdin) == NULL) {
        return sd_event_exit(sd_event_source_get_event(input), 0);
    }
    handle(line);
    return 0;
}

int main(void) {
    hangdog_options options = {.size = sizeof options};
    options.threshold_ns[HANGDOG_STATE_FOREGROUND] = 500000000;
    hangdog_start(&options);
    hangdog_loop *loop = hangdog_loop_watch("main", 0);

    sd_event *event = NULL;
    sd_event_default(&event);
    setvbuf(stdin, NULL, _IONBF, 0); /* sd-event sees no line that is in a buffer */
    sd_event_add_io(event, NULL, STDIN_FILENO, EPOLLIN, on_input, NULL);
    hangdog_sd_event_loop(loop, event); /* in place of sd_event_loop() */
    sd_event_unref(event);

    hangdog_loop_unwatch(loop);
    return hangdog_stop();
}
