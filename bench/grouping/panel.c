/* SPDX-License-Identifier: MIT
 *
 * The panel: callbacks of GLib. usage: panel EVENT
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "versions.h"

/* Of GLib's headers, which the build needs for nothing else. */
typedef int (*callback)(void *data);
void *g_main_loop_new(void *context, int running);
void g_main_loop_run(void *loop);
void g_main_loop_quit(void *loop);
unsigned g_timeout_add(unsigned ms, callback function, void *data);
unsigned g_idle_add(callback function, void *data);
int64_t g_get_monotonic_time(void);
int g_spawn_sync(const char *folder, char **command, char **environment, int flags, void *setup, void *data,
                 char **out, char **err, int *status, void **error);
void *g_list_prepend(void *list, void *data);
void *g_list_sort(void *list, int (*compare)(const void *, const void *));
void g_list_free_full(void *list, void (*destroy)(void *));
char *g_strdup_printf(const char *format, ...);

static volatile unsigned sink;
static int64_t deadline;
static void *loop;

static int over(void) {
    return g_get_monotonic_time() >= deadline;
}

#if VERSION >= 2
void show_clock(int n) {
    while (n-- > 0) {
        sink += (unsigned)n;
    }
}
#endif

static void scale_icon(unsigned icon MORE) {
    USE(icon);
    for (int i = 0; i < 30000; i++) {
        icon = icon * 22695477 + 1;
    }
    sink += icon;
}

static void load_icons(void) {
    for (unsigned icon = 0; !over(); icon++) {
        scale_icon(icon GIVE);
    }
}

static int on_icons(void *data) {
    (void)data;
    load_icons();
    return 0;
}

static void read_battery(unsigned n MORE) {
    char *command[] = {"/bin/sleep", "0.24", NULL};
    USE(n);
    sink += n + (unsigned)g_spawn_sync(NULL, command, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL);
}

static int on_battery(void *data) {
    (void)data;
    read_battery(1 GIVE);
    return 0;
}

static int compare_apps(const void *a, const void *b) {
    int result = 0;
    for (int i = 0; i < 20; i++) {
        result += strcmp(a, b) + i;
    }
    return result;
}

static void sort_menu(unsigned n MORE) {
    void *apps = NULL;
    USE(n);
    for (unsigned i = 0; i < 300; i++) {
        apps = g_list_prepend(apps, g_strdup_printf("application %u", (i * 7919 + n) % 1000));
    }
    apps = g_list_sort(apps, compare_apps);
    g_list_free_full(apps, free);
}

static int on_menu(void *data) {
    (void)data;
    while (!over()) {
        sort_menu(3 GIVE);
    }
    return 0;
}

static int ticks;
static const char *event;

static int tick(void *data) {
    (void)data;
    if (++ticks == 12) {
        deadline = g_get_monotonic_time() + BUG_MS * 1000;
        g_idle_add(strcmp(event, "icons") == 0     ? on_icons
                   : strcmp(event, "battery") == 0 ? on_battery
                                                   : on_menu,
                   NULL);
    }
    if (ticks == 18) {
        g_main_loop_quit(loop);
    }
    return 1;
}

int main(int argc, char **argv) {
    event = argc > 1 ? argv[1] : "";
    loop = g_main_loop_new(NULL, 0);
    g_timeout_add(10, tick, NULL);
    g_main_loop_run(loop);
    return 0;
}
