/* SPDX-License-Identifier: MIT
 *
 * A window of GTK 3. It declares what it uses: the headers need not be installed.
 */
#include "requests.h"

int gtk_init_check(int *argc, char ***argv);
void *gtk_window_new(int type);
void gtk_widget_show_all(void *widget);
void gtk_main(void);
void gtk_main_quit(void);
unsigned g_timeout_add(unsigned ms, int (*call)(void *), void *data);
unsigned g_unix_fd_add(int fd, unsigned condition, int (*call)(int, unsigned, void *), void *data);

static int on_timer(void *unused) {
    (void)unused;
    return 1;
}

static int on_input(int fd, unsigned condition, void *unused) {
    (void)fd;
    (void)condition;
    (void)unused;
    if (serve() < 0) {
        gtk_main_quit();
    }
    return 1;
}

int main(int argc, char **argv) {
    unsigned ms = argc > 1 ? (unsigned)atoi(argv[1]) : 0;
    if (!gtk_init_check(NULL, NULL)) {
        return 77;
    }
    gtk_widget_show_all(gtk_window_new(0));
    g_unix_fd_add(STDIN_FILENO, 1, on_input, NULL);
    if (ms > 0) {
        g_timeout_add(ms, on_timer, NULL);
    }
    say("ready\n");
    gtk_main();
    return 0;
}
