/* SPDX-License-Identifier: MIT
 *
 * A program on libuv, watched by Hangdog. Each line on standard input is a request: "slow" takes a second,
 * and is a hang. Type it, press Ctrl-D, and then: hangdog list
 *
 *   cc uv.c $(pkg-config --cflags --libs hangdog libuv) -o uv
 */
#include <hangdog/uv.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void handle(const char *request) {
    if (strcmp(request, "slow\n") == 0) {
        sleep(1);
    }
    printf("done: %s", request);
}

static void on_input(uv_poll_t *input, int status, int events) {
    char line[256];
    (void)status;
    (void)events;
    if (fgets(line, sizeof line, stdin) != NULL) {
        handle(line);
    } else {
        uv_close((uv_handle_t *)input, NULL);
    }
}

int main(void) {
    hangdog_options options = {.size = sizeof options};
    options.threshold_ns[HANGDOG_STATE_FOREGROUND] = 500000000;
    hangdog_start(&options);
    uv_loop_t *uv = uv_default_loop();
    hangdog_uv *watch = hangdog_uv_watch(uv, "main", 0);

    uv_poll_t input;
    setvbuf(stdin, NULL, _IONBF, 0); /* libuv sees no line that is in a buffer */
    uv_poll_init(uv, &input, STDIN_FILENO);
    uv_poll_start(&input, UV_READABLE, on_input);
    hangdog_uv_run(watch, uv, UV_RUN_DEFAULT); /* in place of uv_run() */

    hangdog_uv_unwatch(watch);
    uv_run(uv, UV_RUN_DEFAULT); /* closes the watch's handles */
    uv_loop_close(uv);
    return hangdog_stop();
}
