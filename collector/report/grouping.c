/* SPDX-License-Identifier: MIT */
#include "collector/report/grouping.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/path.h"
#include "cli/reader/frame_origin.h"
#include "cli/reader/own_frame.h"
#include "collector/report/frame_name.h"
#include "collector/report/sha256.h"

#define FRAMES 5
#define HALF 0.5
#define RING_MAX 8

/* The functions of a stack that count, the innermost first. */
struct own_path {
    char name[FRAMES][FRAME_NAME_BYTES];
    const json_t *first; /* the frame of name[0] */
    size_t count;
};

static const char *text_of(const json_t *object, const char *name) {
    const char *text = json_string_value(json_object_get(object, name));
    return text != NULL ? text : "";
}

/* Turns a loop. Its callers are the same for all callbacks, so they say nothing of a bug. */
static bool is_loop_function(const char *name) {
    static const char *const loops[] = {"g_main_context_dispatch",
                                        "g_main_context_iteration",
                                        "g_main_loop_run",
                                        "g_application_run",
                                        "gtk_main",
                                        "uv_run",
                                        "uv__io_poll",
                                        "event_base_loop",
                                        "ev_run",
                                        "aeMain",
                                        "aeProcessEvents",
                                        "QEventLoop::exec",
                                        "sd_event_run",
                                        "sd_event_loop",
                                        "wl_display_dispatch",
                                        "BaseEventLoop._run_once",
                                        "BaseEventLoop.run_forever",
                                        "Handle._run"};
    for (size_t i = 0; i < sizeof loops / sizeof loops[0]; i++) {
        if (strcmp(name, loops[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void add_own_frame(struct own_path *path, const json_t *frame, const char *name) {
    if (path->count > 0 && strcmp(path->name[path->count - 1], name) == 0) {
        return; /* recursion: its depth is of this hang, not of the bug */
    }
    if (path->count == 0) {
        path->first = frame;
    }
    snprintf(path->name[path->count++], FRAME_NAME_BYTES, "%s", name);
}

static struct own_path own_path_of(const json_t *report, const json_t *frames) {
    struct own_path path = {.count = 0};
    size_t i;
    const json_t *frame;
    json_array_foreach(frames, i, frame) {
        char name[FRAME_NAME_BYTES];
        const json_t *share = json_object_get(frame, "share");
        if (path.count == FRAMES || (path.count > 0 && is_loop_function(frame_name(report, frame, name)))) {
            break;
        }
        if ((share == NULL || json_number_value(share) >= HALF) && report_frame_is_own(report, frame) &&
            !report_frame_is_ours(report, frame) && !report_frame_is_start(frame)) {
            add_own_frame(&path, frame, frame_name(report, frame, name));
        }
    }
    return path;
}

static const json_t *frames_of_thread(const json_t *report, json_int_t tid) {
    size_t i;
    const json_t *thread;
    json_array_foreach(json_object_get(report, "threads"), i, thread) {
        if (json_integer_value(json_object_get(thread, "tid")) == tid) {
            return json_object_get(json_object_get(thread, "stack"), "frames");
        }
    }
    return NULL;
}

/* "lock.c:13", else the module's file. */
static void set_place(struct grouping *g, const json_t *report, const json_t *frame) {
    const char *file = base_name(json_string_value(json_object_get(frame, "file")));
    const char *module =
        base_name(json_string_value(json_object_get(report_frame_module(report, frame), "path")));
    json_int_t line = json_integer_value(json_object_get(frame, "line"));
    if (file != NULL && line > 0) {
        snprintf(g->place, sizeof g->place, "%.100s:%lld", file, (long long)line);
    } else if (file != NULL || module != NULL) {
        snprintf(g->place, sizeof g->place, "%.100s", file != NULL ? file : module);
    }
    frame_name_mend(g->place);
}

static void __attribute__((format(printf, 2, 3))) add_line(struct grouping *g, const char *format, ...) {
    size_t used = strlen(g->path);
    va_list args;
    va_start(args, format);
    int n = vsnprintf(g->path + used, sizeof g->path - used, format, args);
    va_end(args);
    if (n >= 0 && used + (size_t)n + 1 < sizeof g->path) {
        memcpy(g->path + used + n, "\n", 2);
    }
}

static void add_own_path(struct grouping *g, const json_t *report, const struct own_path *path,
                         const char *head) {
    for (size_t i = 0; i < path->count; i++) {
        add_line(g, "%s %s", head, path->name[i]);
    }
    if (g->function[0] == '\0' && path->count > 0) {
        snprintf(g->function, sizeof g->function, "%s", path->name[0]);
        set_place(g, report, path->first);
    }
}

static int compare_names(const void *a, const void *b) {
    return strcmp(a, b);
}

/* All threads of the ring, in an order that does not depend on which of them was watched. */
static bool add_deadlock(struct grouping *g, const json_t *report) {
    const json_t *ring = json_object_get(json_object_get(report, "cause"), "deadlock"), *tid;
    json_int_t watched = json_integer_value(json_object_get(json_object_get(report, "loop"), "tid"));
    char name[RING_MAX][FRAME_NAME_BYTES];
    size_t i, count = 0;
    json_array_foreach(ring, i, tid) {
        json_int_t id = json_integer_value(tid);
        const json_t *frames = id == watched ? json_object_get(json_object_get(report, "hot_stack"), "frames")
                                             : frames_of_thread(report, id);
        struct own_path path = own_path_of(report, frames);
        if (path.count > 0 && count < RING_MAX) {
            memcpy(name[count++], path.name[0], FRAME_NAME_BYTES);
        }
    }
    qsort(name, count, sizeof name[0], compare_names);
    for (i = 0; i < count; i++) {
        add_line(g, "deadlock %s", name[i]);
    }
    return count >= 2;
}

static bool add_owner(struct grouping *g, const json_t *report) {
    const json_t *owner = json_object_get(json_object_get(report, "cause"), "lock_owner_tid");
    if (owner == NULL) {
        return false;
    }
    struct own_path path = own_path_of(report, frames_of_thread(report, json_integer_value(owner)));
    add_own_path(g, report, &path, "owner");
    g->by_owner = path.count > 0;
    return g->by_owner;
}

/* No function of the app is on the stack. */
static void add_other(struct grouping *g, const json_t *report) {
    char name[FRAME_NAME_BYTES];
    const json_t *frame = report_own_frame(report), *cause = json_object_get(report, "cause");
    if (frame == NULL) {
        frame = json_array_get(json_object_get(json_object_get(report, "hot_stack"), "frames"), 0);
    }
    if (frame != NULL) {
        add_line(g, "library %s", frame_name(report, frame, name));
        snprintf(g->function, sizeof g->function, "%s", name);
        set_place(g, report, frame);
    }
    add_line(g, "call %.60s", text_of(cause, "syscall"));
}

void grouping_of(const json_t *report, struct grouping *out) {
    const char *kind = text_of(report, "kind"), *cause = text_of(json_object_get(report, "cause"), "kind");
    const json_t *frames = json_object_get(json_object_get(report, "hot_stack"), "frames");
    uint8_t hash[SHA256_BYTES];
    memset(out, 0, sizeof *out);
    add_line(out, "rule %d", GROUPING_VERSION);
    add_line(out, "app %.200s", text_of(json_object_get(report, "app"), "name"));
    if (strcmp(kind, "crash") == 0 || strcmp(kind, "too-many-threads") == 0 || strcmp(kind, "cpu") == 0 ||
        strcmp(kind, "frame-drop") == 0 || strcmp(kind, "error") == 0) {
        add_line(out, "kind %s", kind); /* no hang: its function is no bug of a hang */
    }
    if (strcmp(kind, "error") == 0) {
        add_line(out, "error %.100s", text_of(json_object_get(report, "error"), "type"));
    }
    add_line(out, "cause %s", cause[0] != '\0' ? cause : "unknown");
    struct own_path path = own_path_of(report, frames);
    if (!add_deadlock(out, report) && !add_owner(out, report)) {
        add_own_path(out, report, &path, "own");
        if (path.count == 0) {
            add_other(out, report);
        }
    }
    if (out->function[0] == '\0') { /* of a deadlock: this thread's */
        snprintf(out->function, sizeof out->function, "%s", path.count > 0 ? path.name[0] : "no stack");
        if (path.count > 0) {
            set_place(out, report, path.first);
        }
    }
    sha256(out->path, strlen(out->path), hash);
    sha256_hex(hash, GROUPING_HEX / 2, out->fingerprint);
}
