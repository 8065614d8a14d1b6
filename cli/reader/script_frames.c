/* SPDX-License-Identifier: MIT
 * A member that is missing from a report or of another type reads as NULL, 0 or empty, as in symbolicate.c.
 */
#include "cli/reader/script_frames.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/sanitize.h"
#include "cli/reader/merge_by_name.h"
#include "cli/reader/process_perf_map.h"
#include "image/modules.h"
#include "symbolizer/jit_name.h"
#include "symbolizer/perf_map.h"

#define NAMED_MAX 512u

/* ---- frames without a module -------------------------------------------------------------- */

struct lookup {
    json_t *frame; /* borrowed */
    uint64_t pc;
};

/* Addresses of JIT code for which the report has the function: each has a script's frame next to it. */
struct named_places {
    const char *pc[NAMED_MAX]; /* borrowed */
    size_t count;
};

static bool is_named(const struct named_places *named, const char *pc) {
    size_t i = 0;
    while (i < named->count && pc != NULL && strcmp(named->pc[i], pc) != 0) {
        i++;
    }
    return i < named->count && pc != NULL;
}

static void find_named(struct named_places *named, const json_t *stack) {
    const json_t *frames = json_object_get(stack, "frames");
    for (size_t i = 0; i < json_array_size(frames) && named->count < NAMED_MAX; i++) {
        const json_t *frame = json_array_get(frames, i);
        const char *pc = json_string_value(json_object_get(frame, "pc"));
        if (pc != NULL && json_object_get(frame, "language") != NULL &&
            json_is_true(json_object_get(frame, "inlined")) && !is_named(named, pc)) {
            named->pc[named->count++] = pc;
        }
    }
}

struct lookup_list {
    struct lookup *item;
    size_t count, room;
    struct named_places named;
};

static void ask(struct lookup_list *list, json_t *frame) {
    const char *pc = json_string_value(json_object_get(frame, "pc"));
    const char *trust = json_string_value(json_object_get(frame, "trust"));
    if (pc == NULL || strncmp(pc, "0x", 2) != 0 || json_object_get(frame, "module") != NULL ||
        json_object_get(frame, "function") != NULL || is_named(&list->named, pc)) {
        return;
    }
    if (list->count == list->room) {
        size_t room = list->room != 0 ? 2 * list->room : 256;
        struct lookup *more = realloc(list->item, room * sizeof *more);
        if (more == NULL) {
            return;
        }
        list->item = more;
        list->room = room;
    }
    bool exact = trust != NULL && (strcmp(trust, "context") == 0 || strcmp(trust, "signal") == 0);
    list->item[list->count++] = (struct lookup){.frame = frame, .pc = strtoull(pc, NULL, 16) - !exact};
}

static void ask_all(struct lookup_list *list, const json_t *stack) {
    const json_t *frames = json_object_get(stack, "frames");
    for (size_t i = 0; i < json_array_size(frames); i++) {
        ask(list, json_array_get(frames, i));
    }
}

static void ask_report(struct lookup_list *list, const json_t *report) {
    const json_t *samples = json_object_get(report, "samples");
    const json_t *stacks = json_object_get(samples, "stacks"), *threads = json_object_get(report, "threads");
    find_named(&list->named, json_object_get(report, "hot_stack"));
    find_named(&list->named, json_object_get(samples, "tree"));
    for (size_t i = 0; i < json_array_size(stacks); i++) {
        find_named(&list->named, json_array_get(stacks, i));
    }
    ask_all(list, json_object_get(report, "hot_stack"));
    ask_all(list, json_object_get(samples, "tree"));
    for (size_t i = 0; i < json_array_size(stacks); i++) {
        ask_all(list, json_array_get(stacks, i));
    }
    for (size_t i = 0; i < json_array_size(threads); i++) {
        ask_all(list, json_object_get(json_array_get(threads, i), "stack"));
    }
}

static int by_pc(const void *a, const void *b) {
    const struct lookup *x = a, *y = b;
    return (x->pc > y->pc) - (x->pc < y->pc);
}

/* ---- names -------------------------------------------------------------------------------- */

static void put_name(json_t *frame, char *text) {
    struct jit_name name = jit_name_parse(text);
    json_t *function = json_string(name.function); /* NULL: not UTF-8 */
    if (function == NULL) {
        return;
    }
    json_object_set_new(frame, "function", function);
    if (name.file != NULL) {
        json_object_set_new(frame, "file", json_string(name.file));
    }
    if (name.file != NULL && name.line > 0) {
        json_object_set_new(frame, "line", json_integer(name.line));
    }
    if (name.language != NULL) {
        json_object_set_new(frame, "language", json_string(name.language));
    }
}

static int name_from(int fd, struct lookup_list *list, int *cut) {
    struct perf_map_place *places = calloc(list->count, sizeof *places);
    char name[PERF_MAP_NAME_BYTES];
    if (places == NULL) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < list->count; i++) {
        places[i].pc = list->item[i].pc;
    }
    int error = perf_map_find(fd, places, list->count, cut);
    for (size_t i = 0; error == 0 && i < list->count; i++) {
        if (places[i].start != 0 && perf_map_name(fd, &places[i], name) == 0) {
            put_name(list->item[i].frame, name);
        }
    }
    free(places);
    return error;
}

int script_frames_name(json_t *report, uid_t owner, json_t *notes) {
    struct lookup_list list = {.count = 0};
    struct process_map map;
    int cut = 0, error = -ENOENT;
    ask_report(&list, report);
    if (list.count != 0 && process_map_open(report, owner, &map) >= 0) {
        qsort(list.item, list.count, sizeof *list.item, by_pc);
        error = name_from(map.fd, &list, &cut);
        process_map_close(&map);
        if (error != 0) {
            json_array_append_new(notes, json_sprintf("reading %s: %s", map.path, strerror(-error)));
        } else if (cut) {
            json_array_append_new(notes, json_sprintf("read only the end of %s (%d MiB)", map.path,
                                                      (int)(PERF_MAP_BYTES_MAX >> 20)));
        }
        jit_tree_merge(report);
    } else if (list.count != 0 && map.why != NULL) {
        json_array_append_new(notes, json_sprintf("ignored %s: %s", map.path, map.why));
    }
    free(list.item);
    return error == 0;
}

/* ---- hints -------------------------------------------------------------------------------- */

const char *script_frame_language(const json_t *frame) {
    return json_string_value(json_object_get(frame, "language"));
}

/* "<string>" is python -c, and "<stdin>" is what it reads; "<frozen importlib>" is its own. */
static int is_made_up(const char *file) {
    return file[0] == '<' && strcmp(file, "<string>") != 0 && strcmp(file, "<stdin>") != 0;
}

/* Below lib/pythonX.Y of any prefix: pyenv's, or a virtual environment's. */
static int is_of_python(const char *file) {
    static const char folder[] = "/lib/python";
    const char *at = strstr(file, folder);
    return at != NULL && at[sizeof folder - 1] >= '0' && at[sizeof folder - 1] <= '9';
}

int script_frame_is_system(const json_t *frame) {
    const char *file = json_string_value(json_object_get(frame, "file"));
    return file == NULL || is_made_up(file) || strncmp(file, "node:", 5) == 0 ||
           hd_module_path_is_system(file) || is_of_python(file) || strstr(file, "/site-packages/") != NULL ||
           strstr(file, "/dist-packages/") != NULL || strstr(file, "/node_modules/") != NULL ||
           strstr(file, "/hangdog_labels.") != NULL;
}

int script_frames_at_exit(const json_t *frames) {
    static const char *const functions[][2] = {{"_shutdown", "threading.py"},
                                               {"_python_exit", "concurrent/futures/thread.py"},
                                               {"_exit_function", "multiprocessing/util.py"}};
    for (size_t i = 0; i < json_array_size(frames); i++) {
        const json_t *frame = json_array_get(frames, i);
        const char *name = json_string_value(json_object_get(frame, "function"));
        const char *file = json_string_value(json_object_get(frame, "file"));
        for (size_t k = 0; name != NULL && file != NULL && k < sizeof functions / sizeof functions[0]; k++) {
            size_t n = strlen(file), end = strlen(functions[k][1]);
            if (strcmp(name, functions[k][0]) == 0 && n >= end &&
                strcmp(file + n - end, functions[k][1]) == 0) {
                return 1;
            }
        }
    }
    return 0;
}

#define NODE_HINT "no JavaScript names: this build of V8 does not describe its objects"
#define NO_NAMES(language) "no " language " names: Hangdog does not read " language "'s stacks"

/* `function`: a function that identifies the interpreter; in C++ the name before the arguments. `mapped`: a
 * hint for reports with a map that was read. */
static const struct hint {
    const char *function, *language;
    int mapped;
    const char *text;
} hints[] = {
    {"Builtins_JSEntryTrampoline", "javascript", 0, NODE_HINT},
    {"v8::internal::Execution::Call(", "javascript", 0, NODE_HINT}, /* where those are stripped: Debian's */
    {"_PyEval_EvalFrameDefault", "python", -1,
     "no Python names: Hangdog reads CPython 3.8 to 3.14, none without the GIL; try python3 -X perf"},
    {"lua_pcall", "lua", -1, NO_NAMES("Lua")},
    {"lua_pcallk", "lua", -1, NO_NAMES("Lua")},
    {"lua_call", "lua", -1, NO_NAMES("Lua")},
    {"lua_callk", "lua", -1, NO_NAMES("Lua")},
    {"Perl_runops_standard", "perl", -1, NO_NAMES("Perl")},
    {"rb_vm_exec", "ruby", -1, NO_NAMES("Ruby")},
    {"execute_ex", "php", -1, NO_NAMES("PHP")},
};

static int is_function(const char *name, const char *wanted) {
    size_t n = strlen(wanted);
    return strncmp(name, wanted, n) == 0 && (name[n] == 0 || wanted[n - 1] == '(');
}

void script_frames_hint(const json_t *report, int mapped, json_t *notes) {
    const json_t *frames = json_object_get(json_object_get(report, "hot_stack"), "frames");
    const char *language = NULL;
    size_t unnamed = 0;
    struct named_places named = {.count = 0};
    find_named(&named, json_object_get(report, "hot_stack"));
    const struct hint *hint = NULL;
    for (size_t i = 0; i < json_array_size(frames); i++) {
        const json_t *frame = json_array_get(frames, i);
        const char *function = json_string_value(json_object_get(frame, "function"));
        language = language != NULL ? language : script_frame_language(frame);
        unnamed += function == NULL && json_object_get(frame, "module") == NULL &&
                   !is_named(&named, json_string_value(json_object_get(frame, "pc")));
        for (size_t k = 0; function != NULL && hint == NULL && k < sizeof hints / sizeof hints[0]; k++) {
            if ((hints[k].mapped < 0 || hints[k].mapped == mapped) &&
                is_function(function, hints[k].function)) {
                hint = &hints[k];
            }
        }
    }
    if (hint != NULL && (hint->mapped == 1 || language == NULL || strcmp(language, hint->language) != 0)) {
        json_array_append_new(notes, json_string(hint->text));
    } else if (hint == NULL && unnamed != 0 && !mapped) {
        json_array_append_new(notes, json_sprintf("no names for %d frame%s: JIT code without a "
                                                  "/tmp/perf-PID.map",
                                                  (int)unnamed, cli_plural((int64_t)unnamed, "", "s")));
    }
}
