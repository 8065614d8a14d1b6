/* SPDX-License-Identifier: MIT
 *
 * A desktop program on GTK 4 or GTK 3, watched by Hangdog. A click on its button loads a file for a second:
 * that is a hang. Close the window, and then: hangdog list
 *
 *   cc gtk.c $(pkg-config --cflags --libs hangdog gtk4) -o gtk
 *   cc gtk.c $(pkg-config --cflags --libs hangdog gtk+-3.0) -o gtk
 */
#include <gtk/gtk.h>
#include <hangdog/glib.h>
#include <unistd.h>

static void load(GtkButton *button, gpointer data) {
    (void)data;
    sleep(1);
    gtk_button_set_label(button, "Loaded");
}

static void on_activate(GtkApplication *application, gpointer data) {
    GtkWidget *window = gtk_application_window_new(application);
    GtkWidget *button = gtk_button_new_with_label("Load");
    (void)data;
    g_signal_connect(button, "clicked", G_CALLBACK(load), NULL);
#if GTK_CHECK_VERSION(4, 0, 0)
    gtk_window_set_child(GTK_WINDOW(window), button);
#else
    gtk_container_add(GTK_CONTAINER(window), button);
    gtk_widget_show(button);
#endif
    gtk_window_present(GTK_WINDOW(window));
}

int main(int argc, char **argv) {
    hangdog_options options = {.size = sizeof options};
    options.threshold_ns[HANGDOG_STATE_FOREGROUND] = 500000000;
    hangdog_start(&options);
    hangdog_glib *watch = hangdog_glib_watch(NULL, "main", 0);

    GtkApplication *application = gtk_application_new("org.example.Load", G_APPLICATION_NON_UNIQUE);
    g_signal_connect(application, "activate", G_CALLBACK(on_activate), NULL);
    int status = g_application_run(G_APPLICATION(application), argc, argv);
    g_object_unref(application);

    hangdog_glib_unwatch(watch);
    hangdog_stop();
    return status;
}
