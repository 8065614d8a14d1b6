/* SPDX-License-Identifier: MIT
 *
 * A program whose loop is in a library without a hook, here libuv's. Hangdog finds the loop's wait by
 * itself. Each line on standard input is a request: "slow" takes a second, and is a hang. Type it, press
 * Ctrl-D, and then: hangdog list
 *
 *   cc waits.c $(pkg-config --cflags --libs libuv hangdog-waits) -o waits
 */
#include <hangdog/waits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

static void handle(const char *request) {
    if (strcmp(request, "slow") == 0) {
        sleep(1);
    }
    printf("%s: done\n", request);
}

static void give_memory(uv_handle_t *stream, size_t size, uv_buf_t *buffer) {
    static char memory[4096];
    (void)stream, (void)size;
    *buffer = uv_buf_init(memory, sizeof memory - 1);
}

static void on_input(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer) {
    if (n < 0) {
        uv_close((uv_handle_t *)stream, NULL);
        return;
    }
    buffer->base[n] = '\0';
    for (char *line = strtok(buffer->base, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        handle(line);
    }
}

int main(void) {
    hangdog_options options = {.size = sizeof options};
    for (int i = 0; i < HANGDOG_STATES; i++) {
        options.threshold_ns[i] = 500 * 1000 * 1000;
    }
    hangdog_waits_start(&options);

    uv_pipe_t input;
    uv_pipe_init(uv_default_loop(), &input, 0);
    uv_pipe_open(&input, STDIN_FILENO);
    uv_read_start((uv_stream_t *)&input, give_memory, on_input);
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    hangdog_waits_stop();
    return 0;
}
