/* SPDX-License-Identifier: MIT
 * A GThreadPool and GTasks with more work than threads. No task takes 500 ms. */
#include <gio/gio.h>
#include <stdlib.h>

static GMainLoop *loop;
static GThreadPool *pool;

static void work(gpointer data, gpointer user) {
    (void)user;
    g_usleep((1 + GPOINTER_TO_UINT(data) % 20) * 10000);
}

static gboolean push(gpointer data) {
    static unsigned i;
    (void)data;
    while (g_thread_pool_unprocessed(pool) < 10) {
        g_thread_pool_push(pool, GUINT_TO_POINTER(++i), NULL);
    }
    return G_SOURCE_CONTINUE;
}

static void run(GTask *task, gpointer source, gpointer data, GCancellable *cancel) {
    (void)source, (void)data, (void)cancel;
    g_usleep(100000);
    g_task_return_boolean(task, TRUE);
}

static void start(GObject *source, GAsyncResult *result, gpointer data) {
    (void)source, (void)result;
    GTask *task = g_task_new(NULL, NULL, start, data);
    g_task_run_in_thread(task, run);
    g_object_unref(task);
}

static gboolean stop(gpointer data) {
    (void)data;
    g_main_loop_quit(loop);
    return G_SOURCE_REMOVE;
}

int main(int argc, char **argv) {
    loop = g_main_loop_new(NULL, FALSE);
    pool = g_thread_pool_new(work, NULL, 4, argc > 2, NULL);
    g_timeout_add(50, push, NULL);
    for (int i = 0; i < 15; i++) {
        start(NULL, NULL, NULL);
    }
    g_timeout_add_seconds((guint)atoi(argv[1]), stop, NULL);
    g_main_loop_run(loop);
    return 0;
}
