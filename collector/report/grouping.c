/* SPDX-License-Identifier: MIT */
#include "collector/report/grouping.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/json_text.h"
#include "cli/base/path.h"
#include "cli/reader/coverage.h"
#include "cli/reader/frame_origin.h"
#include "cli/reader/library_names.h"
#include "cli/reader/libuv_wait.h"
#include "cli/reader/own_frame.h"
#include "collector/report/frame_name.h"
#include "collector/report/kind.h"
#include "collector/report/sha256.h"

#define FRAMES 5
#define FRAMES_MAX 32
#define HALF 0.5
#define MOST 0.75 /* another hang of this bug may have less than half of the time here, but hardly less */
#define SOME 0.25
#define RING_MAX 8 /* threads of a deadlock */
/* A report may come from anywhere, so grouping reads a bounded number of frames of a stack, of frames in all,
 * and of threads. The library writes 384 frames a stack, before inlined ones are added, and 256 threads. */
#define STACK_LOOKED_AT 512
#define FRAMES_LOOKED_AT 1024
#define THREADS_LOOKED_AT 1000

/* Values computed once for a report, and how many more frames grouping may read. */
struct look {
    const json_t *report;
    double known; /* the part of the hang's time with a stack */
    size_t frames_left;
};

/* The app's functions on a stack, the innermost first. */
struct own_frame {
    char name[FRAME_NAME_BYTES];
    char weight; /* the function's part of the time, as in alike.h */
    const json_t *frame;
};

struct own_path {
    struct own_frame own[FRAMES_MAX];
    size_t count;
    bool calls; /* within the innermost one is a library's function, one without a name, or an inlined one */
    bool partial; /* there may be functions without a frame: inlined, and no debug information */
};

static bool is_on(const struct own_path *path, const char *name) {
    for (size_t i = 0; i < path->count; i++) {
        if (strcmp(path->own[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static char weight_of(const json_t *frame, double known) {
    const json_t *share = json_object_get(frame, "share");
    double of_known = share != NULL && known > 0 ? json_number_value(share) / known : 1;
    return of_known >= MOST ? '!' : of_known >= HALF ? '+' : of_known >= SOME ? '?' : '\0';
}

static bool counts(const json_t *report, const json_t *frame) {
    return report_frame_is_own(report, frame) && !report_frame_is_ours(report, frame) &&
           !report_frame_is_start(frame);
}

/* Whether it is a function of the app, or has a lambda of one where no other function is within it. */
static bool name_own(const json_t *report, const json_t *frame, bool innermost, char out[FRAME_NAME_BYTES]) {
    if (counts(report, frame) && !frame_name_is_glue(out)) {
        return true;
    }
    return innermost && json_object_get(frame, "language") == NULL && !report_frame_is_ours(report, frame) &&
           report_frame_origin(report, frame) != OF_SYSTEM && frame_name_of_lambda(frame, out);
}

/* Node compiles a function that it calls often, with what that one calls in it. */
static bool may_lack_a_call(const json_t *frame) {
    return strcmp(json_text(frame, "language"), "javascript") == 0;
}

static void add_frame(struct own_path *path, const json_t *frame, const char *name, char weight) {
    path->calls |= path->count == 0 && may_lack_a_call(frame);
    struct own_frame *own = &path->own[path->count++];
    snprintf(own->name, sizeof own->name, "%s", name);
    own->weight = weight;
    own->frame = frame;
    path->partial |= json_object_get(frame, "file") == NULL && json_object_get(frame, "language") == NULL;
}

/* A function that calls itself counts once: how deep it went is of this hang, not of the bug. One without a
 * name counts only where there is no other: many have its name. */
static void own_path_of(struct look *look, const json_t *frames, struct own_path *path) {
    const json_t *report = look->report, *frame, *unnamed = NULL;
    size_t i;
    char name[FRAME_NAME_BYTES], unnamed_name[FRAME_NAME_BYTES] = "", unnamed_weight = '\0';
    path->count = 0;
    path->partial = false;
    path->calls = false;
    json_array_foreach(frames, i, frame) {
        if (path->count == FRAMES_MAX || i == STACK_LOOKED_AT || look->frames_left == 0 ||
            (is_library_loop(frame_name(report, frame, name)) && path->count > 0)) {
            break;
        }
        look->frames_left--;
        char weight = weight_of(frame, look->known);
        if (weight == '\0' || !name_own(report, frame, path->count == 0, name) || is_on(path, name)) {
            path->calls |= path->count == 0 && weight != '\0';
        } else if (!frame_name_is_anonymous(name)) {
            add_frame(path, frame, name, weight);
        } else {
            path->calls |= path->count == 0;
            if (unnamed == NULL) {
                unnamed = frame;
                unnamed_weight = weight;
                memcpy(unnamed_name, name, sizeof unnamed_name);
            }
        }
    }
    if (path->count == 0 && unnamed != NULL) {
        add_frame(path, unnamed, unnamed_name, unnamed_weight);
    }
}

/* main calls all of the app, as a module's own lines do: they count where there is nothing else. */
static bool is_hashed(const struct own_path *path, size_t i) {
    const char *name = path->own[i].name;
    return path->own[i].weight != '?' &&
           (i == 0 || (strcmp(name, "main") != 0 && strcmp(name, "<module>") != 0));
}

/* The innermost function with half of the time; NULL: none. */
static const struct own_frame *first_of(const struct own_path *path) {
    for (size_t i = 0; i < path->count; i++) {
        if (is_hashed(path, i)) {
            return &path->own[i];
        }
    }
    return NULL;
}

static const json_t *frames_of_thread(const json_t *report, json_int_t tid) {
    size_t i;
    const json_t *thread;
    json_array_foreach(json_object_get(report, "threads"), i, thread) {
        if (i == THREADS_LOOKED_AT) {
            break;
        }
        if (json_integer_value(json_object_get(thread, "tid")) == tid) {
            return json_object_get(json_object_get(thread, "stack"), "frames");
        }
    }
    return NULL;
}

/* "lock.c:13", else the module's file. */
static void set_place(struct grouping *g, const json_t *report, const json_t *frame) {
    const char *file = file_name(json_string_value(json_object_get(frame, "file")));
    const char *module =
        base_name(json_string_value(json_object_get(report_frame_module(report, frame), "path")));
    const char *program = base_name(json_text(json_object_get(report, "app"), "executable"));
    json_int_t line = json_integer_value(json_object_get(frame, "line"));
    /* The app's own file is no place: pages say the app. Its file may have another name, where it was started
     * by a link: Debian's redis-server is a link to redis-check-rdb. */
    if (module != NULL && program != NULL && strcmp(module, program) == 0 &&
        report_frame_is_own(report, frame)) {
        module = NULL;
    }
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
    const struct own_frame *first = first_of(path);
    size_t lines = 0;
    for (size_t i = 0; i < path->count && lines < FRAMES; i++) {
        if (is_hashed(path, i)) {
            add_line(g, "%s %s", head, path->own[i].name);
            lines++;
        }
    }
    if (g->function[0] == '\0' && first != NULL) {
        snprintf(g->function, sizeof g->function, "%s", first->name);
        set_place(g, report, first->frame);
    }
}

/* Sets the values that alike.h compares. The family is a hash of the lines so far. */
static void set_frames(struct grouping *g, const struct own_path *path, const char *head) {
    char text[GROUPING_PATH_BYTES + 16];
    uint8_t hash[SHA256_BYTES];
    snprintf(text, sizeof text, "%s%s", g->path, head);
    sha256(text, strlen(text), hash);
    sha256_hex(hash, GROUPING_HEX / 2, g->family);
    size_t used = (size_t)snprintf(g->frames, sizeof g->frames, "%s\n",
                                   path->partial ? "partial"
                                   : path->calls ? "calls"
                                                 : "whole");
    for (size_t i = 0; i < path->count && used + FRAME_NAME_BYTES + 3 < sizeof g->frames; i++) {
        used += (size_t)snprintf(g->frames + used, sizeof g->frames - used, "%c%s\n", path->own[i].weight,
                                 path->own[i].name);
    }
}

/* The app's innermost function is called by the loop, and is not main: cheaper than to look for another. */
static bool is_called_by_loop(const struct own_frame *first, const json_t *frames, size_t loop) {
    const char *name = first != NULL ? json_string_value(json_object_get(first->frame, "function")) : NULL;
    size_t i = 0;
    while (i < loop && first != NULL && json_array_get(frames, i) != first->frame) {
        i++;
    }
    return i < loop && name != NULL && strcmp(name, "main") != 0;
}

/* The libraries' functions that the loop calls, or main: the app's own ones are the same in each hang. */
static bool library_path_of(const struct look *look, const json_t *frames, const struct own_frame *first,
                            struct own_path *path) {
    const json_t *report = look->report, *frame, *own = NULL;
    size_t i, loop = report_loop_of(frames);
    char name[FRAME_NAME_BYTES];
    *path = (struct own_path){.count = 0};
    if (!is_called_by_loop(first, frames, loop)) {
        own = report_own_frame_of(report, frames);
    }
    if (own == NULL || report_frame_is_own(report, own) || !report_frame_is_librarys(report, own)) {
        return false;
    }
    json_array_foreach(frames, i, frame) {
        char weight = weight_of(frame, look->known);
        if (i == loop || i == STACK_LOOKED_AT) {
            break;
        }
        if (path->count < FRAMES_MAX && weight != '\0' && report_frame_is_librarys(report, frame) &&
            !is_on(path, frame_name(report, frame, name))) {
            add_frame(path, frame, name, weight);
        }
    }
    path->partial = false;
    path->calls = true; /* a function without a name, or of the C library */
    return first_of(path) != NULL;
}

static int compare_names(const void *a, const void *b) {
    return strcmp(a, b);
}

/* All threads of the ring, in an order that does not depend on which of them was watched. */
static bool add_deadlock(struct grouping *g, struct look *look) {
    const json_t *report = look->report;
    const json_t *ring = json_object_get(json_object_get(report, "cause"), "deadlock"), *tid;
    json_int_t watched = json_integer_value(json_object_get(json_object_get(report, "loop"), "tid"));
    char name[RING_MAX][FRAME_NAME_BYTES];
    size_t i, count = 0;
    json_array_foreach(ring, i, tid) {
        if (i == RING_MAX) {
            break;
        }
        json_int_t id = json_integer_value(tid);
        const json_t *frames = id == watched ? json_object_get(json_object_get(report, "hot_stack"), "frames")
                                             : frames_of_thread(report, id);
        struct own_path path;
        own_path_of(look, frames, &path);
        const struct own_frame *first = first_of(&path);
        if (first != NULL) {
            memcpy(name[count++], first->name, FRAME_NAME_BYTES);
        }
    }
    qsort(name, count, sizeof name[0], compare_names);
    for (i = 0; i < count; i++) {
        add_line(g, "deadlock %s", name[i]);
    }
    return count >= 2;
}

static bool add_owner(struct grouping *g, struct look *look) {
    const json_t *report = look->report;
    const json_t *owner = json_object_get(json_object_get(report, "cause"), "lock_owner_tid");
    if (owner == NULL) {
        return false;
    }
    struct own_path path;
    own_path_of(look, frames_of_thread(report, json_integer_value(owner)), &path);
    g->by_owner = first_of(&path) != NULL;
    if (g->by_owner) {
        set_frames(g, &path, "owner");
        add_own_path(g, report, &path, "owner");
    }
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
        const json_t *frames = json_object_get(json_object_get(report, "hot_stack"), "frames");
        char *wait = report_libuv_wait(report, frames, frame, false);
        add_line(g, "library %s", frame_name(report, frame, name));
        snprintf(g->function, sizeof g->function, "%s", wait != NULL ? wait : name);
        set_place(g, report, frame);
        free(wait);
    }
    add_line(g, "call %.60s", json_text(cause, "syscall"));
}

/* Causes of a function's own work are one class: machines differ in which of them has the most time. It
 * depends on other programs on the CPU, on what is in memory already, and on when a collector runs. */
static const char *class_of(const char *cause) {
    static const struct {
        const char *word;
        bool is_work;
    } causes[] = {
#define HD_WORD_CAUSE(id, word, label, lane, colour, is_work, sentence) {word, is_work},
#include "base/words.def"
    };
    for (size_t i = 0; i < sizeof causes / sizeof causes[0]; i++) {
        if (causes[i].is_work && strcmp(cause, causes[i].word) == 0) {
            return "own work";
        }
    }
    return cause[0] != '\0' ? cause : "unknown";
}

static void add_own(struct grouping *g, const struct look *look, const json_t *frames,
                    const struct own_path *path) {
    const json_t *report = look->report;
    struct own_path library;
    if (library_path_of(look, frames, first_of(path), &library)) {
        set_frames(g, &library, "library");
        add_own_path(g, report, &library, "library");
    } else if (first_of(path) == NULL) {
        add_other(g, report);
    } else {
        set_frames(g, path, "own");
        add_own_path(g, report, path, "own");
    }
}

void grouping_of(const json_t *report, struct grouping *out) {
    const char *kind = json_text(report, "kind"),
               *cause = json_text(json_object_get(report, "cause"), "kind");
    const json_t *frames = json_object_get(json_object_get(report, "hot_stack"), "frames");
    uint8_t hash[SHA256_BYTES];
    struct look look = {report, report_coverage(report).known, FRAMES_LOOKED_AT};
    struct own_path path;
    memset(out, 0, sizeof *out);
    add_line(out, "rule %d", GROUPING_VERSION);
    add_line(out, "app %.200s", json_text(json_object_get(report, "app"), "name"));
    if (kind_has_own_groups(kind)) {
        add_line(out, "kind %s", kind); /* no hang: its function is no bug of a hang */
    }
    if (strcmp(kind, "error") == 0) {
        add_line(out, "error %.100s", json_text(json_object_get(report, "error"), "type"));
    }
    add_line(out, "cause %s", class_of(cause));
    own_path_of(&look, frames, &path);
    if (!add_deadlock(out, &look) && !add_owner(out, &look)) {
        add_own(out, &look, frames, &path);
    }
    if (out->function[0] == '\0') { /* of a deadlock: this thread's */
        const struct own_frame *first = first_of(&path);
        snprintf(out->function, sizeof out->function, "%s", first != NULL ? first->name : "no stack");
        if (first != NULL) {
            set_place(out, report, first->frame);
        }
    }
    frame_name_add_pool(out->place, sizeof out->place, report);
    frame_name_show(out->function);
    sha256(out->path, strlen(out->path), hash);
    sha256_hex(hash, GROUPING_HEX / 2, out->fingerprint);
}
