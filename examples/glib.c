/* SPDX-License-Identifier: MIT
 *
 * A program on GLib, watched by Hangdog. Each line on standard input is a request: "slow" takes a second,
 * and is a hang. Type it, press Ctrl-D, and then: hangdog list
 *
 *   cc glib.c $(pkg-config --cflags --libs hangdog glib-2.0) -o glib
 */
#include <glib-unix.h>
#include <hangdog/glib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void handle(const char *request) {
    if (strcmp(request, "slow\n") == 0) {
        sleep(1);
    }
    printf("done: %s", request);
}

static gboolean on_input(gint fd, GIOCondition condition, gpointer main_loop) {
    char line[256];
    (void)fd;
    (void)condition;
    if (fgets(line, sizeof line, stdin) != NULL) {
        handle(line);
        return G_SOURCE_CONTINUE;
    }
    g_main_loop_quit((GMainLoop *)main_loop);
    return G_SOURCE_REMOVE;
}

int main(void) {
    hangdog_options options = {.size = sizeof options};
    options.threshold_ns[HANGDOG_STATE_FOREGROUND] = 500000000;
    hangdog_start(&options);
    hangdog_glib *watch = hangdog_glib_watch(NULL, "main", 0);

    GMainLoop *main_loop = g_main_loop_new(NULL, FALSE);
    setvbuf(stdin, NULL, _IONBF, 0); /* GLib sees no line that is in a buffer */
    g_unix_fd_add(STDIN_FILENO, G_IO_IN | G_IO_HUP, on_input, main_loop);
    g_main_loop_run(main_loop);
    g_main_loop_unref(main_loop);

    hangdog_glib_unwatch(watch);
    return hangdog_stop();
}
