/* SPDX-License-Identifier: MIT
 *
 * A hand-written loop, watched by Hangdog. Each line on standard input is a request: "slow" takes a second,
 * and is a hang. Type it, press Ctrl-D, and then: hangdog list
 *
 *   cc epoll.c $(pkg-config --cflags --libs hangdog) -o epoll
 */
#include <errno.h>
#include <hangdog/epoll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void handle(const char *request) {
    if (strcmp(request, "slow\n") == 0) {
        sleep(1);
    }
    printf("done: %s", request);
}

int main(void) {
    hangdog_options options = {.size = sizeof options};
    options.threshold_ns[HANGDOG_STATE_FOREGROUND] = 500000000;
    hangdog_start(&options);
    hangdog_loop *loop = hangdog_loop_watch("main", 0);

    int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event input = {.events = EPOLLIN};
    char line[256];
    setvbuf(stdin, NULL, _IONBF, 0); /* epoll sees no line that is in a buffer */
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, STDIN_FILENO, &input);
    for (;;) {
        int ready = hangdog_epoll_wait(loop, epoll_fd, &input, 1, -1);
        if (ready < 0 && errno == EINTR) { /* as after Ctrl-Z and `fg` */
            continue;
        }
        if (ready < 0 || fgets(line, sizeof line, stdin) == NULL) {
            break;
        }
        handle(line);
    }
    close(epoll_fd);

    hangdog_loop_unwatch(loop);
    return hangdog_stop();
}
