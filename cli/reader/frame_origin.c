/* SPDX-License-Identifier: MIT */
#include "cli/reader/frame_origin.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/path.h"
#include "cli/reader/library_names.h"
#include "cli/reader/script_frames.h"
#include "image/macho/apple_path.h"
#include "image/modules.h"

/* True for the module that is the program itself: by build-id, or by name where there is none. */
bool frame_is_program(const json_t *report, const json_t *module) {
    const json_t *app = json_object_get(report, "app");
    const char *mine = json_string_value(json_object_get(app, "build_id"));
    const char *other = json_string_value(json_object_get(module, "build_id"));
    if (mine != NULL && other != NULL) {
        return strcmp(mine, other) == 0;
    }
    mine = base_name(json_string_value(json_object_get(app, "executable")));
    other = base_name(json_string_value(json_object_get(module, "path")));
    return mine != NULL && other != NULL && strcmp(mine, other) == 0;
}

const json_t *report_frame_module(const json_t *report, const json_t *frame) {
    const json_t *index = json_object_get(frame, "module");
    if (!json_is_integer(index) || json_integer_value(index) < 0) {
        return NULL;
    }
    return json_array_get(json_object_get(report, "modules"), (size_t)json_integer_value(index));
}

static const char *module_path(const json_t *report, const json_t *frame) {
    return json_string_value(json_object_get(report_frame_module(report, frame), "path"));
}

static bool paths_are_elsewhere;

void frame_origin_set_elsewhere(void) {
    paths_are_elsewhere = true;
}

bool frame_origin_is_elsewhere(void) {
    return paths_are_elsewhere;
}

/* /usr/bin/redis-server is a link to a file of another name. */
static bool is_link_next_to(const char *path, const char *name) {
    char next_to[PATH_MAX], real[PATH_MAX];
    int folder = (int)(base_name(path) - path);
    return strchr(name, '/') == NULL &&
           (size_t)snprintf(next_to, sizeof next_to, "%.*s%s", folder, path, name) < sizeof next_to &&
           realpath(next_to, real) != NULL && strcmp(real, path) == 0;
}

static const char *module_name(const json_t *report, const json_t *frame) {
    const json_t *module = report_frame_module(report, frame);
    const char *path = json_string_value(json_object_get(module, "path"));
    const char *app = json_string_value(json_object_get(json_object_get(report, "app"), "name"));
    if (!paths_are_elsewhere && path != NULL && app != NULL && frame_is_program(report, module) &&
        is_link_next_to(path, app)) {
        return app;
    }
    return base_name(path);
}

char *report_frame_place(const json_t *report, const json_t *frame) {
    const char *name = module_name(report, frame),
               *offset = json_string_value(json_object_get(frame, "offset"));
    char *text;
    return name != NULL && offset != NULL && asprintf(&text, "%s+%s", name, offset) >= 0 ? text : NULL;
}

bool report_frame_is_ours(const json_t *report, const json_t *frame) {
    const char *name = base_name(module_path(report, frame));
    return name != NULL &&
           (strcmp(name, "libhangdog-preload.so") == 0 || strcmp(name, "libhangdog-insert.dylib") == 0);
}

bool frame_path_is_system(const char *path) {
    return path == NULL || path[0] != '/' || hd_module_path_is_system(path) || hd_apple_path_is_system(path);
}

/* True: code of a system header, inlined or instantiated in the module. The source file shows this, or
 * without lines the name. */
bool report_frame_is_of_header(const json_t *frame) {
    const char *file = json_string_value(json_object_get(frame, "file"));
    const char *name = json_string_value(json_object_get(frame, "function"));
    if (file != NULL) {
        return is_library_header(file);
    }
    return name != NULL && is_of_standard_library(name);
}

static bool is_of_programs_folder(const json_t *report, const json_t *module) {
    const char *path = json_string_value(json_object_get(module, "path"));
    const char *program = json_string_value(json_object_get(json_object_get(report, "app"), "executable"));
    return path != NULL && program != NULL && hd_module_path_is_of_program(path, base_name(program));
}

enum frame_origin report_frame_origin(const json_t *report, const json_t *frame) {
    const json_t *module = report_frame_module(report, frame);
    const json_t *in_app = json_object_get(frame, "in_app");
    if (script_frame_language(frame) != NULL) { /* the interpreter's frames say less */
        return (json_is_boolean(in_app) ? json_is_false(in_app) : script_frame_is_system(frame))
                   ? OF_SYSTEM_SCRIPT
                   : OF_SCRIPT;
    }
    if (module == NULL &&
        json_object_get(frame, "function") != NULL) { /* a map's, which has pieces of V8, too */
        return OF_SYSTEM_SCRIPT;
    }
    bool program = module != NULL && frame_is_program(report, module);
    if (!program && frame_path_is_system(json_string_value(json_object_get(module, "path")))) {
        if (!is_of_programs_folder(report, module)) {
            return OF_SYSTEM;
        }
        program = true;
    }
    return report_frame_is_of_header(frame) ? OF_HEADER : program ? OF_PROGRAM : OF_LIBRARY;
}

/* A package that the user installed, of which the user wrote no line. */
static bool is_package(const char *path) {
    static const char *const folders[] = {"/site-packages/", "/dist-packages/", "/node_modules/",
                                          "/lib/python", NULL};
    for (size_t i = 0; folders[i] != NULL; i++) {
        if (strstr(path, folders[i]) != NULL) {
            return true;
        }
    }
    return false;
}

static bool is_runtime(const char *name) {
    static const char *const runtimes[] = {
        "libuv.",     "libglib-",  "libgobject-", "libgio-",  "libgtk-", "libgdk-", "libQt",
        "libpython",  "libnode.",  "libev.",      "libevent", "libc.",   "libc-",   "libpthread",
        "libstdc++.", "libgcc_s.", "libruby",     "libperl",  "liblua",  "libjvm.", "libhangdog",
        "libm.",      "ld-linux",  "libswift",    NULL};
    return names_begin_with_any(name, runtimes);
}

bool frame_module_is_library(const char *path) {
    return is_package(path) || is_runtime(base_name(path));
}

bool report_frame_is_of_interpreter(const json_t *report, const json_t *frame) {
    static const char *const programs[] = {"python", "node", "ruby", "perl", "php", "lua",   "java",
                                           "tclsh",  "wish", "gjs",  "deno", "bun", "guile", NULL};
    static const char *const libraries[] = {"libpython", "libnode.", "libruby", "libperl", "liblua",
                                            "libjvm.",   "libv8",    "libtcl",  NULL};
    const char *name = base_name(module_path(report, frame));
    if (script_frame_language(frame) != NULL || name == NULL) {
        return false;
    }
    return names_begin_with_any(name, libraries) ||
           strstr(module_path(report, frame), "/lib-dynload/") != NULL || /* Python's own extension modules */
           (names_begin_with_any(name, programs) &&
            frame_is_program(report, report_frame_module(report, frame)));
}

bool report_frame_is_start(const json_t *frame) {
    const char *name = json_string_value(json_object_get(frame, "function"));
    return name != NULL && (strcmp(name, "_start") == 0 || names_begin_with(name, "__libc_start_"));
}

bool report_frame_is_own(const json_t *report, const json_t *frame) {
    const char *path = module_path(report, frame);
    if (report_frame_is_ours(report, frame) || report_frame_is_start(frame)) {
        return false;
    }
    switch (report_frame_origin(report, frame)) {
    case OF_SCRIPT:
        return true;
    case OF_PROGRAM:
        return !report_frame_is_of_interpreter(report, frame);
    case OF_LIBRARY:
        return path != NULL && !frame_module_is_library(path);
    case OF_SYSTEM:
    case OF_HEADER:
    case OF_SYSTEM_SCRIPT:
        break;
    }
    return false;
}
