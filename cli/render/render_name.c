/* SPDX-License-Identifier: MIT
 *
 * Names of functions and of calls for a user. Reports come from anywhere: what is missing or of another type
 * reads as NULL, 0 or empty.
 */
#include "cli/base/path.h"
#include "cli/base/terminal.h"
#include "cli/reader/frame_origin.h"
#include "cli/reader/script_frames.h"
#include "cli/render/render_parts.h"
#include "cli/render/short_name.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* The bytes of the first `columns` characters. */
static size_t bytes_of(const char *text, int columns) {
    size_t n = 0;
    for (; text[n] != 0; n++) {
        columns -= ((unsigned char)text[n] & 0xc0) != 0x80;
        if (columns < 0) {
            break;
        }
    }
    return n;
}

/* An ellipsis in place of the middle. */
static char *without_middle(char *text, int width) {
    int all = name_width(text), head = (width - 1) / 2, tail = width - 1 - head;
    char *cut = NULL;
    if (width < 4 || all <= width) {
        return text;
    }
    if (asprintf(&cut, "%.*s%s%s", (int)bytes_of(text, head), text, terminal_ellipsis(),
                 text + bytes_of(text, all - tail)) < 0) {
        return text;
    }
    free(text);
    return cut;
}

/* "outer.<locals>.inner" is inner. */
static const char *without_locals(const char *name) {
    static const char locals[] = ".<locals>.";
    for (const char *at; (at = strstr(name, locals)) != NULL;) {
        name = at + sizeof locals - 1;
    }
    return name;
}

static const char *function_of(const json_t *frame) {
    const char *name = value_text(frame, "function");
    if (name == NULL || name[0] == 0) {
        return NULL;
    }
    return script_frame_language(frame) != NULL ? without_locals(name) : name;
}

char *render_name(const struct page *p, const json_t *frame, int width) {
    const char *name = function_of(frame);
    char *text =
        name != NULL ? short_name(name, width > 0 ? width : INT_MAX) : report_frame_place(p->report, frame);
    if (text == NULL && name == NULL) {
        text = strdup(value_text(frame, "pc") != NULL ? value_text(frame, "pc") : "?");
    }
    return text != NULL && width > 0 ? without_middle(text, width) : text;
}

char *render_place(const json_t *frame) {
    const char *file = value_text(frame, "file");
    char *text;
    if (file == NULL) {
        return strdup("");
    }
    if (value_int(frame, "line") <= 0) {
        return strdup(file_name(file));
    }
    return asprintf(&text, "%s:%d", file_name(file), (int)value_int(frame, "line")) < 0 ? NULL : text;
}

char *render_function(const struct page *p, const json_t *frame, int width) {
    char *place = function_of(frame) != NULL ? render_place(frame) : NULL, *text = NULL;
    bool placed = place != NULL && place[0] != 0;
    int room = width > 0 && placed ? width - name_width(place) - 3 : width;
    char *name = render_name(p, frame, width > 0 && room < 12 ? 12 : room);
    if (name != NULL && asprintf(&text, placed ? "%s (%s)" : "%s%s", name, placed ? place : "") < 0) {
        text = NULL;
    }
    free(name);
    free(place);
    return text;
}

char *render_library(const json_t *report, const json_t *frame) {
    const char *name = base_name(value_text(report_frame_module(report, frame), "path"));
    const char *end = name != NULL ? strstr(name, ".so") : NULL;
    return name != NULL ? strndup(name, end != NULL ? (size_t)(end - name) : strlen(name)) : strdup("");
}

/* glibc's inner functions, which end the public ones by a tail call that leaves no trace of them. */
static const char *public_name(const char *name) {
    static const char *const inner[][2] = {{"__pthread_clockjoin_ex", "pthread_join"},
                                           {"__new_sem_wait_slow64", "sem_wait"},
                                           {"__pthread_once_slow", "pthread_once"},
                                           {"__GI___pthread_mutex_lock", "pthread_mutex_lock"}};
    static const char *const prefixes[] = {"__libc_", "__GI_", "___", "__"};
    for (size_t i = 0; i < sizeof inner / sizeof inner[0]; i++) {
        if (strcmp(name, inner[i][0]) == 0) {
            return inner[i][1];
        }
    }
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0 && name[strlen(prefixes[i])] != 0 &&
            strchr(name, ':') == NULL) {
            return name + strlen(prefixes[i]);
        }
    }
    return name;
}

/* "subprocess" of subprocess.py, "json" of json/__init__.py, "child_process" of node:child_process; its
 * length in *length. */
static const char *module_of_script(const char *file, int *length) {
    const char *name = base_name(file), *end;
    if (strncmp(file, "node:", 5) == 0) {
        name = strrchr(file, '/') != NULL ? base_name(file) : file + 5;
    }
    if (strcmp(name, "__init__.py") == 0 && name > file + 1) {
        end = name - 1;
        for (name = end; name > file && name[-1] != '/'; name--) {
        }
        *length = (int)(end - name);
        return name;
    }
    end = strrchr(name, '.');
    *length = end != NULL && end > name ? (int)(end - name) : (int)strlen(name);
    return name;
}

char *render_call(const struct page *p, const json_t *frame, int width) {
    const char *name = function_of(frame), *file = value_text(frame, "file");
    char *text = NULL;
    int length;
    if (name == NULL) {
        return render_name(p, frame, width);
    }
    if (script_frame_language(frame) == NULL || file == NULL || file[0] == '<') {
        text = short_name(public_name(name), width > 0 ? width : INT_MAX);
    } else {
        const char *module = module_of_script(file, &length);
        if (asprintf(&text, "%.*s.%s", length, module, name) < 0) {
            text = NULL;
        }
    }
    return text != NULL && width > 0 ? without_middle(text, width) : text;
}

/* The program's own pool has the name of the pool's threads. */
void render_pool(FILE *out, const json_t *report) {
    static const char *const librarys[] = {"libuv", "GLib", "AnyIO"};
    const json_t *pool = json_object_get(report, "pool");
    const char *name = value_text(pool, "name");
    int64_t threads = value_int(pool, "threads");
    bool is_librarys = false, named = name != NULL && name[0] != '\0';
    for (size_t i = 0; named && i < sizeof librarys / sizeof librarys[0]; i++) {
        is_librarys |= strcmp(name, librarys[i]) == 0;
    }
    fprintf(out, threads > 1 ? "all %" PRId64 " threads" : "the thread", threads);
    if (named && strcmp(name, "ThreadPoolExecutor") == 0) {
        fprintf(out, " of a %s", name);
    } else {
        fprintf(out, !named ? " of a pool" : is_librarys ? " of %s's pool" : " \"%s\"", name);
    }
}
