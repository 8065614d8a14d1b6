/* SPDX-License-Identifier: MIT */
#include "cli/reader/own_frame.h"

#include <stdint.h>
#include <string.h>

#include "cli/base/path.h"
#include "cli/reader/coverage.h"
#include "cli/reader/frame_origin.h"
#include "cli/reader/library_names.h"
#include "cli/reader/script_frames.h"

/* A comprehension is a function of its own in Python, and a part of the one that has it to its author. */
static bool is_comprehension(const char *name) {
    static const char *const ends[] = {"<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>"};
    size_t n = name != NULL ? strlen(name) : 0;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        if (n >= strlen(ends[i]) && strcmp(name + n - strlen(ends[i]), ends[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* A main of which no line is known: it calls all of the program, so its name says nothing. */
static bool is_main(const json_t *frame) {
    const char *name = json_string_value(json_object_get(frame, "function"));
    return name == NULL || (strcmp(name, "main") == 0 && json_object_get(frame, "file") == NULL);
}

/* How well a frame represents the hang. Its origin counts first, then a name, then a share of at least half
 * of the known time. The leaf of a path with branches has a small share. */
static int rank_of(const json_t *report, const json_t *frame, double half) {
    const json_t *share = json_object_get(frame, "share");
    if (report_frame_is_ours(report, frame) || report_frame_is_start(frame)) {
        return 0;
    }
    const char *name = json_string_value(json_object_get(frame, "function"));
    bool most = (share == NULL || json_number_value(share) >= half) && !is_comprehension(name);
    return 4 * (int)report_frame_origin(report, frame) + 2 * !is_main(frame) + most;
}

static bool is_of_c_library(const json_t *report, const json_t *frame) {
    static const char *const names[] = {"libc.", "libc-", "libpthread", "libm.", "libm-",
                                        "librt", "ld-",   "linux-vdso", NULL};
    const json_t *module = report_frame_module(report, frame);
    const char *name = base_name(json_string_value(json_object_get(module, "path")));
    return name != NULL && names_begin_with_any(name, names);
}

/* True: the frame is main, main calls no other function of the program, and not only the C library. The
 * called library then says more. */
static bool is_bare_main(const json_t *report, const json_t *frames, size_t at) {
    if (!is_main(json_array_get(frames, at))) {
        return false;
    }
    for (size_t i = 0; i <= at; i++) {
        if ((report_frame_origin(report, json_array_get(frames, i)) == OF_PROGRAM) != (i == at)) {
            return false;
        }
    }
    while (is_of_c_library(report, json_array_get(frames, ++at))) {
        if (report_frame_is_start(json_array_get(frames, at))) {
            return true;
        }
    }
    return false;
}

bool report_frame_is_ffi(const json_t *report, const json_t *frame) {
    static const char *const modules[] = {
        "libffi.", "_ctypes.", "_cffi_backend.", "_gi.", "ffi_bindings.node", "koffi.node", NULL};
    static const char *const functions[] = {"ffi_call", "ffi_closure_", NULL}; /* linked into a module */
    const char *name = json_string_value(json_object_get(frame, "function"));
    const char *path = json_string_value(json_object_get(report_frame_module(report, frame), "path"));
    return path != NULL && script_frame_language(frame) == NULL &&
           (names_begin_with_any(base_name(path), modules) ||
            (name != NULL && names_begin_with_any(name, functions)));
}

bool report_frame_is_glue(const json_t *report, const json_t *frame) {
    const char *path = json_string_value(json_object_get(report_frame_module(report, frame), "path"));
    return report_frame_is_ffi(report, frame) ||
           (path != NULL && names_begin_with(base_name(path), "libgobject-"));
}

bool report_frame_is_librarys(const json_t *report, const json_t *frame) {
    const char *name = json_string_value(json_object_get(frame, "function"));
    const char *path = json_string_value(json_object_get(report_frame_module(report, frame), "path"));
    return name != NULL && path != NULL && !report_frame_is_ours(report, frame) &&
           !is_of_c_library(report, frame) && !report_frame_is_of_header(frame) &&
           !report_frame_is_of_interpreter(report, frame) && script_frame_language(frame) == NULL &&
           !report_frame_is_glue(report, frame);
}

/* Half of the known time, in the unit of shares. 0 for a stack other than the hot stack: it has no shares,
 * and computing them from the samples would take very long. */
static double half_of(const json_t *report, const json_t *frames) {
    bool hot = frames == json_object_get(json_object_get(report, "hot_stack"), "frames");
    return hot ? report_coverage(report).known / 2 : 0;
}

/* The first of the best among the first `count` frames. */
static size_t best_of(const json_t *report, const json_t *frames, size_t count, double half, bool librarys) {
    size_t best = SIZE_MAX;
    int best_rank = -1;
    for (size_t i = 0; i < count; i++) {
        const json_t *frame = json_array_get(frames, i);
        int rank = rank_of(report, frame, half);
        if (rank > best_rank && (!librarys || (report_frame_is_librarys(report, frame) && rank % 2 != 0))) {
            best = i;
            best_rank = rank;
        }
    }
    return best;
}

size_t report_loop_of(const json_t *frames) {
    size_t count = json_array_size(frames);
    for (size_t i = 0; i < count; i++) {
        const char *name = json_string_value(json_object_get(json_array_get(frames, i), "function"));
        if (name != NULL && is_library_loop(name)) {
            return i;
        }
    }
    return count;
}

/* A module that the program loads by its own choice: of its own folders any, of the system's one in a folder
 * of plug-ins. Languages' packages and well-known runtimes are neither, wherever they are. */
bool report_frame_is_plugin(const json_t *report, const json_t *frame, bool systems) {
    static const char *const folders[] = {"/modules/", "/plugins/", "/plugin/", "/addons/", NULL};
    const json_t *module = report_frame_module(report, frame);
    const char *path = json_string_value(json_object_get(module, "path"));
    bool in_folder = false;
    if (path == NULL || path[0] != '/' || frame_is_program(report, module) ||
        report_frame_is_of_header(frame) || frame_module_is_library(path) ||
        json_object_get(frame, "function") == NULL) {
        return false;
    }
    for (size_t i = 0; folders[i] != NULL; i++) {
        in_folder |= strstr(path, folders[i]) != NULL;
    }
    return !frame_path_is_system(path) || (systems && in_folder);
}

/* The innermost plug-in's frame that the program's frame `own` calls, with half of the known time. A plug-in
 * in a system folder counts only for a program of the system (nginx), or below main's loop (a module of GTK).
 * Else the program itself requested the work. SIZE_MAX: none. */
static size_t plugin_of(const json_t *report, const json_t *frames, double half, size_t own) {
    static const char *const programs[] = {"/usr/bin/", "/usr/sbin/", "/usr/libexec/", "/usr/lib/", "/bin/",
                                           "/sbin/",    NULL};
    const json_t *frame = json_array_get(frames, own);
    const char *name = json_string_value(json_object_get(frame, "function"));
    const char *path = json_string_value(json_object_get(report_frame_module(report, frame), "path"));
    if (name == NULL || path == NULL || report_frame_origin(report, frame) != OF_PROGRAM) {
        return SIZE_MAX;
    }
    bool systems = names_begin_with_any(path, programs) || strcmp(name, "main") == 0;
    for (size_t i = 0; i < own; i++) {
        const json_t *share = json_object_get(json_array_get(frames, i), "share");
        if (report_frame_is_plugin(report, json_array_get(frames, i), systems) &&
            (share == NULL || json_number_value(share) >= half)) {
            return i;
        }
    }
    return SIZE_MAX;
}

/* The program's function at `own` only calls a loop, which calls the library's within; or it is main. */
static size_t library_of(const json_t *report, const json_t *frames, double half, size_t own) {
    size_t loop = report_loop_of(frames);
    if (!report_frame_is_own(report, json_array_get(frames, own))) {
        return SIZE_MAX;
    }
    return loop < own                          ? best_of(report, frames, loop, half, true)
           : is_bare_main(report, frames, own) ? best_of(report, frames, own, half, true)
                                               : SIZE_MAX;
}

/* A frame that the loop calls comes before a frame that calls the loop. If the program has its own loop, as
 * redis' aeMain, only named frames inside the loop count. */
static size_t own_of(const json_t *report, const json_t *frames, double half) {
    size_t loop = report_loop_of(frames), inner = best_of(report, frames, loop, half, false);
    const json_t *frame = inner != SIZE_MAX ? json_array_get(frames, inner) : NULL;
    if (frame != NULL && report_frame_is_own(report, frame) &&
        (json_object_get(frame, "function") != NULL ||
         !report_frame_is_own(report, json_array_get(frames, loop)))) {
        return inner;
    }
    return best_of(report, frames, json_array_size(frames), half, false);
}

json_t *report_own_frame_of(const json_t *report, const json_t *frames) {
    double half = half_of(report, frames);
    size_t best = own_of(report, frames, half);
    size_t library = best != SIZE_MAX ? library_of(report, frames, half, best) : SIZE_MAX;
    size_t plugin = best != SIZE_MAX ? plugin_of(report, frames, half, best) : SIZE_MAX;
    return json_array_get(frames, plugin != SIZE_MAX ? plugin : library != SIZE_MAX ? library : best);
}

json_t *report_own_frame(const json_t *report) {
    return report_own_frame_of(report, json_object_get(json_object_get(report, "hot_stack"), "frames"));
}
