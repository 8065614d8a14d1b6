/* SPDX-License-Identifier: MIT
 *
 * Symbols for the frames of a report, and which frame is the app's own. Ordinary code. Reports come from
 * anywhere: jansson gives NULL, 0 or an empty array for what is missing or of another type, and that is
 * relied on.
 */
#include "cli/base/path.h"
#include "cli/reader/reports.h"
#include "cli/reader/script_frames.h"
#include "image/modules.h"
#include "os/os.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct work {
    const json_t *modules;
    struct symbolizer *symbolizer;
    json_t
        *known; /* "module offset" → array of {function, file, line, inlined}: stacks repeat their frames */
    json_t *notes; /* by module's path */
    json_t *script_notes;
    int mapped;
    int64_t ran_s;
};

/* ---- one frame ---------------------------------------------------------------------------- */

static bool read_address(const json_t *object, const char *name, uint64_t *out) {
    const char *text = json_string_value(json_object_get(object, name));
    char *end;
    if (text == NULL || strncmp(text, "0x", 2) != 0)
        return false;
    *out = strtoull(text + 2, &end, 16);
    return *end == 0;
}

static const json_t *module_of(const json_t *modules, const json_t *frame) {
    const json_t *index = json_object_get(frame, "module");
    if (!json_is_integer(index) || json_integer_value(index) < 0)
        return NULL;
    return json_array_get(modules, (size_t)json_integer_value(index));
}

/* The kernel's own module has no file, which is no news to anybody. */
static void note_reason(struct work *w, const json_t *module, const char *reason) {
    const char *path = json_string_value(json_object_get(module, "path"));
    if (path == NULL || strstr(path, "vdso") != NULL || json_object_get(w->notes, path) != NULL)
        return;
    json_object_set_new(w->notes, path, json_sprintf("no symbols for %s: %s", base_name(path), reason));
}

static json_t *describe(const struct symbol *symbol) {
    json_t *out = json_object();
    if (symbol->function != NULL)
        json_object_set_new(out, "function", json_string(symbol->function));
    if (symbol->file != NULL)
        json_object_set_new(out, "file", json_string(symbol->file));
    if (symbol->file != NULL && symbol->line > 0)
        json_object_set_new(out, "line", json_integer(symbol->line));
    if (symbol->inlined)
        json_object_set_new(out, "inlined", json_true());
    return out;
}

/* What is known of a frame: an array as symbolizer_resolve gives it. Borrowed. */
static const json_t *symbols_of(struct work *w, const json_t *frame) {
    struct symbol symbols[SYMBOLS_MAX];
    char key[64];
    const char *reason;
    const json_t *module = module_of(w->modules, frame);
    const char *trust = json_string_value(json_object_get(frame, "trust"));
    struct symbol_query q = {
        .path = json_string_value(json_object_get(module, "path")),
        .build_id = json_string_value(json_object_get(module, "build_id")),
        .ran_s = w->ran_s,
        .exact = trust != NULL && (strcmp(trust, "context") == 0 || strcmp(trust, "signal") == 0),
    };
    if (q.path == NULL || !read_address(frame, "offset", &q.offset))
        return NULL;
    /* No call is that short: who returns there was never called from here. It is where a signal's handler
     * goes on, whose tables begin a byte early, or where a coroutine begins. */
    if (read_address(frame, "start", &q.start))
        q.exact |= q.offset - q.start <= 1;
    snprintf(key, sizeof key, "%" JSON_INTEGER_FORMAT " %" PRIx64 " %d",
             json_integer_value(json_object_get(frame, "module")), q.offset, q.exact);
    json_t *known = json_object_get(w->known, key);
    if (known != NULL)
        return known;
    if (strchr(q.path, '/') == NULL) { /* never a file of the folder that the command is in */
        note_reason(w, module, "its folder was left out of the report");
        return NULL;
    }
    int n = symbolizer_resolve(w->symbolizer, &q, symbols, &reason);
    if (reason != NULL && json_object_get(frame, "function") == NULL) /* else the name was kept */
        note_reason(w, module, reason);
    known = json_array();
    bool whole = true; /* there may be no memory: the last one is the function, and no other */
    for (int i = 0; i < n; i++)
        whole &= json_array_append_new(known, describe(&symbols[i])) == 0;
    if (!whole)
        json_array_clear(known);
    return json_object_set_new(w->known, key, known) == 0 ? known : NULL;
}

/* ---- arrays of frames --------------------------------------------------------------------- */

static bool is_inlined(const json_t *frame) {
    return json_is_true(json_object_get(frame, "inlined"));
}

/* What is to be added to a frame; NULL: nothing. A name that was kept gets its file and line where debug
 * information came later, and is never another one. A frame that inlined others had its file. */
static const json_t *news_of(struct work *w, const json_t *frames, size_t i) {
    const json_t *frame = json_array_get(frames, i), *kept = json_object_get(frame, "function");
    if (!json_is_object(frame) || (kept != NULL && json_object_get(frame, "file") != NULL) ||
        is_inlined(frame) || (kept != NULL && i > 0 && is_inlined(json_array_get(frames, i - 1))))
        return NULL;
    const json_t *symbols = symbols_of(w, frame);
    const json_t *whole = json_array_get(symbols, json_array_size(symbols) - 1);
    bool same = kept == NULL || json_equal(kept, json_object_get(whole, "function"));
    return whole != NULL && same ? symbols : NULL;
}

/* Adds what is known, and puts a frame for each inlined function before the one it was inlined into. */
static void expand_frames(struct work *w, json_t *frames) {
    for (size_t i = 0; i < json_array_size(frames); i++) {
        json_t *frame = json_array_get(frames, i);
        const json_t *symbols = news_of(w, frames, i);
        size_t n = json_array_size(symbols);
        for (size_t k = 0; k + 1 < n; k++) {
            json_t *inlined = json_copy(frame);
            json_object_update(inlined, json_array_get(symbols, k));
            i += json_array_insert_new(frames, i, inlined) == 0; /* else there is no memory */
        }
        if (n != 0)
            json_object_update(frame, json_array_get(symbols, n - 1));
    }
}

/* The tree's frames are found by their index: none is put between them. */
static void name_frames(struct work *w, json_t *frames) {
    for (size_t i = 0; i < json_array_size(frames); i++) {
        json_t *frame = json_array_get(frames, i);
        const json_t *symbols = news_of(w, frames, i);
        if (json_array_size(symbols) != 0)
            json_object_update(frame, json_array_get(symbols, json_array_size(symbols) - 1));
    }
}

static void expand_stacks(struct work *w, json_t *stacks, const char *member) {
    for (size_t i = 0; i < json_array_size(stacks); i++) {
        json_t *at = json_array_get(stacks, i);
        expand_frames(w, json_object_get(member != NULL ? json_object_get(at, member) : at, "frames"));
    }
}

/* When it was last known to run: code may be made and loaded by what hangs. 0: nobody knows. */
static int64_t ran_s(const json_t *report) {
    const char *text = json_string_value(json_object_get(report, "started_at"));
    int64_t took_s = json_integer_value(json_object_get(report, "duration_ns")) / (int64_t)HD_NS_PER_S;
    struct tm utc = {0};
    return text != NULL && strptime(text, "%Y-%m-%dT%H:%M:%S", &utc) != NULL ? timegm(&utc) + took_s : 0;
}

static void begin(struct work *w, json_t *report, struct symbolizer *s, uid_t owner) {
    *w = (struct work){
        .modules = json_object_get(report, "modules"),
        .symbolizer = s,
        .known = json_object(),
        .notes = json_object(),
        .script_notes = json_array(),
        .ran_s = ran_s(report),
    };
    w->mapped = script_frames_name(report, owner, w->script_notes);
}

static void end(struct work *w, const json_t *report, json_t **notes) {
    if (notes != NULL) {
        const char *key;
        json_t *note;
        *notes = json_array();
        json_object_foreach(w->notes, key, note) {
            json_array_append(*notes, note);
        }
        script_frames_hint(report, w->mapped, w->script_notes);
        json_array_extend(*notes, w->script_notes);
    }
    json_decref(w->script_notes);
    json_decref(w->known);
    json_decref(w->notes);
}

/* The thread that has the lock: the cause's sentence has its function. */
static void expand_owner(struct work *w, const json_t *report) {
    json_t *threads = json_object_get(report, "threads"), *only = json_array();
    json_int_t owner =
        json_integer_value(json_object_get(json_object_get(report, "cause"), "lock_owner_tid"));
    for (size_t i = 0; owner != 0 && i < json_array_size(threads); i++)
        if (json_integer_value(json_object_get(json_array_get(threads, i), "tid")) == owner)
            json_array_append(only, json_array_get(threads, i));
    expand_stacks(w, only, "stack");
    json_decref(only);
}

void report_symbolicate(json_t *report, struct symbolizer *s, uid_t owner, enum report_part part,
                        json_t **notes) {
    struct work w;
    const json_t *samples = json_object_get(report, "samples");
    begin(&w, report, s, owner);
    expand_frames(&w, json_object_get(json_object_get(report, "hot_stack"), "frames"));
    if (part >= REPORT_TREE)
        name_frames(&w, json_object_get(json_object_get(samples, "tree"), "frames"));
    if (part == REPORT_TREE)
        expand_owner(&w, report);
    if (part >= REPORT_ALL) {
        expand_stacks(&w, json_object_get(samples, "stacks"), NULL);
        expand_stacks(&w, json_object_get(report, "threads"), "stack");
    }
    end(&w, report, notes);
}

/* ---- the app's own frame ------------------------------------------------------------------ */

/* True for the module that is the program itself: by build-id, or by name where there is none. */
static bool is_program(const json_t *report, const json_t *module) {
    const json_t *app = json_object_get(report, "app");
    const char *mine = json_string_value(json_object_get(app, "build_id"));
    const char *other = json_string_value(json_object_get(module, "build_id"));
    if (mine != NULL && other != NULL)
        return strcmp(mine, other) == 0;
    mine = base_name(json_string_value(json_object_get(app, "executable")));
    other = base_name(json_string_value(json_object_get(module, "path")));
    return mine != NULL && other != NULL && strcmp(mine, other) == 0;
}

/* /usr/bin/redis-server is a link to a file of another name. */
static bool is_link_beside(const char *path, const char *name) {
    char beside[PATH_MAX], real[PATH_MAX];
    int folder = (int)(base_name(path) - path);
    return strchr(name, '/') == NULL &&
           (size_t)snprintf(beside, sizeof beside, "%.*s%s", folder, path, name) < sizeof beside &&
           realpath(beside, real) != NULL && strcmp(real, path) == 0;
}

static const char *module_name(const json_t *report, const json_t *frame) {
    const json_t *module = module_of(json_object_get(report, "modules"), frame);
    const char *path = json_string_value(json_object_get(module, "path"));
    const char *app = json_string_value(json_object_get(json_object_get(report, "app"), "name"));
    if (path != NULL && app != NULL && is_program(report, module) && is_link_beside(path, app))
        return app;
    return base_name(path);
}

char *report_frame_place(const json_t *report, const json_t *frame) {
    const char *name = module_name(report, frame),
               *offset = json_string_value(json_object_get(frame, "offset"));
    char *text;
    return name != NULL && offset != NULL && asprintf(&text, "%s+%s", name, offset) >= 0 ? text : NULL;
}

bool report_frame_is_ours(const json_t *report, const json_t *frame) {
    const json_t *module = module_of(json_object_get(report, "modules"), frame);
    const char *name = base_name(json_string_value(json_object_get(module, "path")));
    return name != NULL && strcmp(name, "libhangdog-preload.so") == 0;
}

static bool begins_with(const char *text, const char *beginning) {
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

static bool is_system(const char *path) {
    return path == NULL || path[0] != '/' || hd_path_is_the_systems(path);
}

static bool begins_with_any(const char *text, const char *const *beginnings) {
    while (*beginnings != NULL && !begins_with(text, *beginnings))
        beginnings++;
    return *beginnings != NULL;
}

/* Of "<app::Big as core::fmt::Display>::fmt" the trait; NULL: none. */
static const char *trait_of(const char *name) {
    int depth = 0;
    for (const char *at = name; *at != 0; at++) {
        depth += (*at == '<') - (*at == '>' && at[-1] != '-');
        if (depth == 0)
            return NULL;
        if (depth == 1 && begins_with(at, " as "))
            return at + 4;
    }
    return NULL;
}

/* "core::fmt::write", "core::ptr::drop_in_place::<(app::Big, u8)>", not core::App::run() of C++.
 * "<alloc::vec::Vec<T> as core::clone::Clone>::clone", where both the type and the trait are the library's; a
 * type that has no path, or is made of others ("[app::Big]"), is a parameter or built in, and only the
 * library may give those functions. Of its traits an app's type may be the argument, and then the app may
 * give them, too ("<u64 as core::convert::From<app::Big>>::from"): that the name does not tell. std's maps
 * are hashbrown's, and what the compiler makes for the library is in __rustc. */
static bool is_of_rusts_library(const char *name) {
    static const char *const crates[] = {
        "std::", "core::", "alloc::", "__rustc::", "panic_unwind::", "hashbrown::", NULL};
    const char *arguments = strstr(name, "::<");
    size_t before = arguments != NULL ? (size_t)(arguments - name) : strlen(name);
    if (name[0] != '<')
        return memchr(name, '(', before) == NULL && begins_with_any(name, crates);
    const char *type = name + strspn(name, "<&"), *trait = trait_of(name);
    type += begins_with(type, "mut ") || begins_with(type, "dyn ") ? 4 : 0;
    bool path = begins_with(type + strcspn(type, " :<>,()[]*"), "::");
    return (trait == NULL || begins_with_any(trait, crates)) && (!path || begins_with_any(type, crates));
}

/* A template's result is told before its name, and may have a type of the standard library: "std::vector<int>
 * app::make<int>(int)". What follows "operator" may have one, too. */
static const char *behind_result(const char *name) {
    const char *word = name;
    int depth = 0;
    for (const char *at = name; *at != 0 && (depth > 0 || *at != '('); at++) {
        depth += (*at == '<') - (*at == '>' && at > name && at[-1] != '-');
        if (depth == 0 && *at == ' ')
            word = at + 1;
        if (depth == 0 && begins_with(at, "operator") && (at == word || at[-1] == ':'))
            break;
    }
    return word;
}

/* "std::map<...>::clear()", "void std::__introsort<...>(...)". But std::function's call of a lambda is all
 * that is left of the lambda, and has its name in it. */
static bool is_of_standard_library(const char *name) {
    const char *word = behind_result(name);
    return ((begins_with(word, "std::") || begins_with(word, "__gnu_cxx::")) &&
            strstr(name, "lambda") == NULL) ||
           is_of_rusts_library(name);
}

/* Of the system or of a language's library, wherever its compiler is. */
static bool is_header(const char *file) {
    static const char *const folders[] = {"/usr/include/", "/usr/local/include/", "/usr/lib/", "/rustc/",
                                          "/rust/deps/",   "/usr/src/rustc-",     NULL};
    return begins_with_any(file, folders) || strstr(file, "/include/c++/") != NULL ||
           strstr(file, "/lib/rustlib/src/rust/") != NULL;
}

/* Inlined, instantiated or linked into the module, but nobody's own code: of a header of the system, which
 * its file tells, and without lines its name. */
static bool is_of_header(const json_t *frame) {
    const char *file = json_string_value(json_object_get(frame, "file"));
    const char *name = json_string_value(json_object_get(frame, "function"));
    if (file != NULL)
        return is_header(file);
    return name != NULL && is_of_standard_library(name);
}

enum frame_origin report_frame_origin(const json_t *report, const json_t *frame) {
    const json_t *module = module_of(json_object_get(report, "modules"), frame);
    if (script_frame_language(frame) != NULL) /* the interpreter's frames say less */
        return script_frame_is_system(frame) ? OF_SYSTEM_SCRIPT : OF_SCRIPT;
    if (module == NULL &&
        json_object_get(frame, "function") != NULL) /* a map's, which has pieces of V8, too */
        return OF_SYSTEM_SCRIPT;
    bool program = module != NULL && is_program(report, module);
    if (!program && is_system(json_string_value(json_object_get(module, "path"))))
        return OF_SYSTEM;
    return is_of_header(frame) ? OF_HEADER : program ? OF_PROGRAM : OF_LIBRARY;
}

/* A program's beginning, which libraries that have all of its code leave as its only name. */
static bool is_start(const json_t *frame) {
    const char *name = json_string_value(json_object_get(frame, "function"));
    return name != NULL && (strcmp(name, "_start") == 0 || begins_with(name, "__libc_start_"));
}

/* How well a frame stands for the hang: whose code it is, then whether it has a name, then whether it is in
 * at least half of the time that is known; the leaf of a path that fans out has little of it. */
static int rank_of(const json_t *report, const json_t *frame, double half) {
    const json_t *share = json_object_get(frame, "share");
    if (report_frame_is_ours(report, frame) || is_start(frame))
        return 0;
    return 4 * (int)report_frame_origin(report, frame) + 2 * (json_object_get(frame, "function") != NULL) +
           (share == NULL || json_number_value(share) >= half);
}

static bool is_of_c_library(const json_t *report, const json_t *frame) {
    static const char *const names[] = {"libc.", "libc-", "libpthread", "libm.", "libm-",
                                        "librt", "ld-",   "linux-vdso", NULL};
    const json_t *module = module_of(json_object_get(report, "modules"), frame);
    const char *name = base_name(json_string_value(json_object_get(module, "path")));
    return name != NULL && begins_with_any(name, names);
}

/* True for the program's main, of which only its place is known, where nothing of the program is called by
 * it: what it calls into tells more. */
static bool is_bare_main(const json_t *report, const json_t *frames, size_t at) {
    if (json_object_get(json_array_get(frames, at), "function") != NULL)
        return false;
    for (size_t i = 0; i <= at; i++)
        if ((report_frame_origin(report, json_array_get(frames, i)) == OF_PROGRAM) != (i == at))
            return false;
    while (is_of_c_library(report, json_array_get(frames, ++at)))
        if (is_start(json_array_get(frames, at)))
            return true;
    return false;
}

static bool is_named_librarys(const json_t *report, const json_t *frame) {
    return json_object_get(frame, "function") != NULL && !report_frame_is_ours(report, frame) &&
           !is_of_c_library(report, frame) && !is_of_header(frame);
}

/* The first of the best among the first `count` frames. */
static size_t best_of(const json_t *report, const json_t *frames, size_t count, bool librarys) {
    size_t best = SIZE_MAX;
    int best_rank = -1;
    double half = report_stack_time(report).known / 2;
    for (size_t i = 0; i < count; i++) {
        const json_t *frame = json_array_get(frames, i);
        int rank = rank_of(report, frame, half);
        if (rank > best_rank && (!librarys || is_named_librarys(report, frame))) {
            best = i;
            best_rank = rank;
        }
    }
    return best;
}

/* A module that the program loads by its own choice: of its own folders any, of the system's one in a folder
 * of plug-ins. Languages' packages and well-known runtimes are neither, wherever they are. */
static bool is_plugin(const json_t *report, const json_t *frame, bool systems) {
    static const char *const folders[] = {"/modules/", "/plugins/", "/plugin/", "/addons/", NULL};
    static const char *const packages[] = {"/site-packages/", "/dist-packages/", "/node_modules/",
                                           "/lib/python", NULL};
    static const char *const runtimes[] = {"libuv.",     "libglib-",  "libgobject-", "libgio-", "libgtk-",
                                           "libQt",      "libpython", "libnode.",    "libev.",  "libevent",
                                           "libstdc++.", "libruby",   "libhangdog",  NULL};
    const json_t *module = module_of(json_object_get(report, "modules"), frame);
    const char *path = json_string_value(json_object_get(module, "path"));
    bool in_folder = false;
    if (path == NULL || path[0] != '/' || is_program(report, module) || is_of_header(frame) ||
        begins_with_any(base_name(path), runtimes) || json_object_get(frame, "function") == NULL)
        return false;
    for (size_t i = 0; packages[i] != NULL; i++)
        if (strstr(path, packages[i]) != NULL)
            return false;
    for (size_t i = 0; folders[i] != NULL; i++)
        in_folder |= strstr(path, folders[i]) != NULL;
    return !is_system(path) || (systems && in_folder);
}

/* The innermost plug-in's frame that the program's frame `own` calls, with half of the known time. One of the
 * system's only where the program is of the system, too (nginx), or it is called by main's loop (a module of
 * GTK): else the program asked for what it does. SIZE_MAX: none. */
static size_t plugin_of(const json_t *report, const json_t *frames, size_t own) {
    static const char *const programs[] = {"/usr/bin/", "/usr/sbin/", "/usr/libexec/", "/usr/lib/", "/bin/",
                                           "/sbin/",    NULL};
    const json_t *frame = json_array_get(frames, own);
    const char *name = json_string_value(json_object_get(frame, "function"));
    const char *path =
        json_string_value(json_object_get(module_of(json_object_get(report, "modules"), frame), "path"));
    double half = report_stack_time(report).known / 2;
    if (name == NULL || path == NULL || report_frame_origin(report, frame) != OF_PROGRAM)
        return SIZE_MAX;
    bool systems = begins_with_any(path, programs) || strcmp(name, "main") == 0;
    for (size_t i = 0; i < own; i++) {
        const json_t *share = json_object_get(json_array_get(frames, i), "share");
        if (is_plugin(report, json_array_get(frames, i), systems) &&
            (share == NULL || json_number_value(share) >= half))
            return i;
    }
    return SIZE_MAX;
}

json_t *report_own_frame_of(const json_t *report, const json_t *frames) {
    size_t best = best_of(report, frames, json_array_size(frames), false), library = SIZE_MAX;
    if (best != SIZE_MAX && is_bare_main(report, frames, best))
        library = best_of(report, frames, best, true);
    size_t plugin = best != SIZE_MAX ? plugin_of(report, frames, best) : SIZE_MAX;
    return json_array_get(frames, plugin != SIZE_MAX ? plugin : library != SIZE_MAX ? library : best);
}

json_t *report_own_frame(const json_t *report) {
    return report_own_frame_of(report, json_object_get(json_object_get(report, "hot_stack"), "frames"));
}
