/* SPDX-License-Identifier: MIT
 *
 * GLib's main context, by hangdog/glib.h. With WITH_GTK the main thread's loop is that of GTK, and has a
 * window.
 */
#include <glib-unix.h>
#ifdef WITH_GTK
#include <gtk/gtk.h>
#endif
#include <unistd.h>

#include "hangdog/glib.h"
#include "loops.h"

const char *const loop_never_nests = NULL;

struct loop {
    GMainContext *context;
    GMainLoop *innermost;
    GSource *input;
    hangdog_glib *watch;
};

struct due {
    struct loop *loop;
    struct call call;
};

static struct due *due(struct loop *loop, struct call call) {
    struct due *d = g_new0(struct due, 1);
    d->loop = loop;
    d->call = call;
    return d;
}

/* A window, the first time. */
static void open_window(void) {
#ifdef WITH_GTK
    static GtkWidget *window;
    if (window == NULL) {
#if GTK_CHECK_VERSION(4, 0, 0)
        gtk_init();
        window = gtk_window_new();
#else
        gtk_init(NULL, NULL);
        window = gtk_window_new(GTK_WINDOW_TOPLEVEL);
        gtk_widget_show(window);
#endif
        gtk_window_present(GTK_WINDOW(window));
    }
#endif
}

static GMainContext *context_of_thread(void) {
#ifdef WITH_GTK
    if (gettid() == getpid()) {
        return g_main_context_ref(g_main_context_default());
    }
#endif
    return g_main_context_new();
}

struct loop *loop_make(const char *name) {
    struct loop *loop = g_new0(struct loop, 1);
    loop->context = context_of_thread();
    g_main_context_push_thread_default(loop->context);
    loop->watch = name != NULL ? hangdog_glib_watch(loop->context, name, 0) : NULL;
    if (gettid() == getpid()) {
        open_window();
    }
    return loop;
}

void loop_run(struct loop *loop) {
    GMainLoop *outer = loop->innermost;
    GMainLoop *inner = g_main_loop_new(loop->context, FALSE);
    loop->innermost = inner;
    g_main_loop_run(inner);
    g_main_loop_unref(inner);
    loop->innermost = outer;
}

void loop_quit(struct loop *loop) {
    g_main_loop_quit(loop->innermost);
}

static gboolean call_due(gpointer data) {
    struct due *d = data;
    d->call.run(d->loop, d->call.argument);
    return G_SOURCE_REMOVE;
}

static gboolean call_input(gint fd, GIOCondition condition, gpointer data) {
    struct due *d = data;
    (void)fd;
    (void)condition;
    d->call.run(d->loop, d->call.argument);
    return G_SOURCE_CONTINUE;
}

static void attach(struct loop *loop, GSource *source, GSourceFunc function, struct call call) {
    g_source_set_callback(source, function, due(loop, call), g_free);
    g_source_attach(source, loop->context);
    g_source_unref(source);
}

void loop_on_input(struct loop *loop, int fd, struct call call) {
    loop->input = g_unix_fd_source_new(fd, G_IO_IN);
    attach(loop, loop->input, G_SOURCE_FUNC(call_input), call);
}

void loop_after(struct loop *loop, unsigned ms, struct call call) {
    attach(loop, g_timeout_source_new(ms), call_due, call);
}

void loop_on_idle(struct loop *loop, struct call call) {
    attach(loop, g_idle_source_new(), call_due, call);
}

void loop_free(struct loop *loop) {
    hangdog_glib_unwatch(loop->watch);
    if (loop->input != NULL) {
        g_source_destroy(loop->input);
    }
    g_main_context_pop_thread_default(loop->context);
    g_main_context_unref(loop->context);
    g_free(loop);
}
