/* SPDX-License-Identifier: MIT
 *
 * A window of GTK 3 with a timer.
 */
#include "schedule.h"

int gtk_init_check(int *argc, char ***argv);
void *gtk_window_new(int type);
void gtk_container_add(void *container, void *widget);
void *gtk_button_new_with_label(const char *label);
void gtk_widget_show_all(void *widget);
void gtk_main(void);
void gtk_main_quit(void);
unsigned g_timeout_add(unsigned ms, int (*call)(void *), void *data);

static int on_timer(void *unused) {
    int ms = run_callback();
    if (ms < 0) {
        gtk_main_quit();
    } else {
        g_timeout_add((unsigned)ms, on_timer, unused);
    }
    return 0;
}

int main(int argc, char **argv) {
    void *window;
    if (argc < 2 || !gtk_init_check(NULL, NULL)) {
        return 2;
    }
    window = gtk_window_new(0);
    gtk_container_add(window, gtk_button_new_with_label("a button"));
    gtk_widget_show_all(window);
    g_timeout_add((unsigned)first_wait_ms(argv), on_timer, NULL);
    gtk_main();
    return 0;
}
