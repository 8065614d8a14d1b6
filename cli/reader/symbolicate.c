/* SPDX-License-Identifier: MIT
 *
 * Symbols for the frames of a report. Ordinary code. Reports come from
 * anywhere: jansson gives NULL, 0 or an empty array for what is missing or of another type, and that is
 * relied on.
 */
#include "cli/reader/symbolicate.h"
#include "cli/base/path.h"
#include "cli/reader/script_frames.h"
#include "image/modules.h"
#include "os/os.h"

#include <inttypes.h>
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
    bool of_apple; /* the report is of macOS or iOS */
    int mapped;
    int64_t ran_s;
};

/* ---- one frame ---------------------------------------------------------------------------- */

static bool read_address(const json_t *object, const char *name, uint64_t *out) {
    const char *text = json_string_value(json_object_get(object, name));
    char *end;
    if (text == NULL || strncmp(text, "0x", 2) != 0) {
        return false;
    }
    *out = strtoull(text + 2, &end, 16);
    return *end == 0;
}

static const json_t *module_of(const json_t *modules, const json_t *frame) {
    const json_t *index = json_object_get(frame, "module");
    if (!json_is_integer(index) || json_integer_value(index) < 0) {
        return NULL;
    }
    return json_array_get(modules, (size_t)json_integer_value(index));
}

static bool is_of_apple(const json_t *report) {
    const char *kernel = json_string_value(json_object_get(json_object_get(report, "host"), "kernel"));
    return kernel != NULL && strncmp(kernel, "Darwin ", 7) == 0;
}

/* The first module is the program. Its file is not here, but its author has the dSYM bundle. */
static const char *dsym_hint(const struct work *w, const json_t *module) {
    return w->of_apple && module == json_array_get(w->modules, 0) ? " (--symbols DIR: a folder with its dSYM)"
                                                                  : "";
}

/* The kernel's own module has no file, which is no news to anybody. */
static void note_reason(struct work *w, const json_t *module, const char *reason) {
    const char *path = json_string_value(json_object_get(module, "path"));
    if (reason == symbolizer_late) {
        json_object_set_new(w->notes, "", json_sprintf("names are missing: %s", reason));
        return;
    }
    if (path == NULL || strstr(path, "vdso") != NULL || json_object_get(w->notes, path) != NULL) {
        return;
    }
    json_object_set_new(
        w->notes, path,
        json_sprintf("no symbols for %s: %s%s", base_name(path), reason, dsym_hint(w, module)));
}

static json_t *describe(const struct symbol *symbol) {
    json_t *out = json_object();
    if (symbol->function != NULL) {
        json_object_set_new(out, "function", json_string(symbol->function));
    }
    if (symbol->file != NULL) {
        json_object_set_new(out, "file", json_string(symbol->file));
    }
    if (symbol->file != NULL && symbol->line > 0) {
        json_object_set_new(out, "line", json_integer(symbol->line));
    }
    if (symbol->inlined) {
        json_object_set_new(out, "inlined", json_true());
    }
    return out;
}

/* The symbols of a frame, as an array in the order of symbolizer_resolve. Borrowed. */
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
    if (q.path == NULL || !read_address(frame, "offset", &q.offset)) {
        return NULL;
    }
    /* A call instruction is longer than one byte, so this is not a return address. Either a coroutine starts
     * here, or a signal handler returns here: the unwind tables of that code start one byte early. */
    if (read_address(frame, "start", &q.start)) {
        q.exact |= q.offset - q.start <= 1;
    }
    snprintf(key, sizeof key, "%" JSON_INTEGER_FORMAT " %" PRIx64 " %d",
             json_integer_value(json_object_get(frame, "module")), q.offset, q.exact);
    json_t *known = json_object_get(w->known, key);
    if (known != NULL) {
        return known;
    }
    /* Never a file of the folder that the command is in. The vDSO is no file. */
    if (strchr(q.path, '/') == NULL && strncmp(q.path, "linux-vdso.so", strlen("linux-vdso.so")) != 0) {
        note_reason(w, module, "its folder was left out of the report");
        return NULL;
    }
    int n = symbolizer_resolve(w->symbolizer, &q, symbols, &reason);
    if (reason != NULL && json_object_get(frame, "function") == NULL) { /* else the name was kept */
        note_reason(w, module, reason);
    }
    known = json_array();
    bool whole = true; /* there may be no memory: the last one is the function, and no other */
    for (int i = 0; i < n; i++) {
        whole &= json_array_append_new(known, describe(&symbols[i])) == 0;
    }
    if (!whole) {
        json_array_clear(known);
    }
    return json_object_set_new(w->known, key, known) == 0 ? known : NULL;
}

/* ---- arrays of frames --------------------------------------------------------------------- */

static bool is_inlined(const json_t *frame) {
    return json_is_true(json_object_get(frame, "inlined"));
}

/* The members to add to a frame; NULL: none. A name that was kept gets its file and line where debug
 * information came later, and is never another one. A frame that inlined others had its file. */
static const json_t *news_of(struct work *w, const json_t *frames, size_t i) {
    const json_t *frame = json_array_get(frames, i), *kept = json_object_get(frame, "function");
    if (!json_is_object(frame) || (kept != NULL && json_object_get(frame, "file") != NULL) ||
        is_inlined(frame) || (kept != NULL && i > 0 && is_inlined(json_array_get(frames, i - 1)))) {
        return NULL;
    }
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
        if (n != 0) {
            json_object_update(frame, json_array_get(symbols, n - 1));
        }
    }
}

/* The tree's frames are found by their index: none is put between them. */
static void name_frames(struct work *w, json_t *frames) {
    for (size_t i = 0; i < json_array_size(frames); i++) {
        json_t *frame = json_array_get(frames, i);
        const json_t *symbols = news_of(w, frames, i);
        if (json_array_size(symbols) != 0) {
            json_object_update(frame, json_array_get(symbols, json_array_size(symbols) - 1));
        }
    }
}

static void expand_stacks(struct work *w, json_t *stacks, const char *member) {
    for (size_t i = 0; i < json_array_size(stacks); i++) {
        json_t *at = json_array_get(stacks, i);
        expand_frames(w, json_object_get(member != NULL ? json_object_get(at, member) : at, "frames"));
    }
}

/* The last time at which the process is known to have run, since the hanging code may itself load code. 0:
 * not known. */
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
        .of_apple = is_of_apple(report),
        .ran_s = ran_s(report),
    };
    symbolizer_begin(s, owner);
    w->mapped = script_frames_name(report, owner, w->script_notes);
}

/* After a server has not answered, no server is queried, and the screen says so. */
static void note_servers(struct work *w) {
    const char *paths[SYMBOLIZER_UNSERVED];
    char names[256] = "";
    int64_t seconds;
    unsigned n = symbolizer_unserved(w->symbolizer, paths, &seconds);
    for (unsigned i = 0; i < n && i < SYMBOLIZER_UNSERVED; i++) {
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "", base_name(paths[i]));
    }
    if (n != 0) {
        json_object_set_new(w->notes, "servers",
                            json_sprintf("debug files of %s%s were not looked up: no server of "
                                         "$DEBUGINFOD_URLS answered in %d s; to wait longer, set "
                                         "DEBUGINFOD_TIMEOUT=%d",
                                         names, n > SYMBOLIZER_UNSERVED ? " and others" : "", (int)seconds,
                                         (int)(seconds < 60 ? 60 : 2 * seconds)));
    }
}

static void end(struct work *w, const json_t *report, json_t **notes) {
    note_servers(w);
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
    for (size_t i = 0; owner != 0 && i < json_array_size(threads); i++) {
        if (json_integer_value(json_object_get(json_array_get(threads, i), "tid")) == owner) {
            json_array_append(only, json_array_get(threads, i));
        }
    }
    expand_stacks(w, only, "stack");
    json_decref(only);
}

void report_symbolicate(json_t *report, struct symbolizer *s, uid_t owner, enum report_part part,
                        json_t **notes) {
    struct work w;
    const json_t *samples = json_object_get(report, "samples");
    begin(&w, report, s, owner);
    expand_frames(&w, json_object_get(json_object_get(report, "hot_stack"), "frames"));
    if (part >= REPORT_TREE) {
        name_frames(&w, json_object_get(json_object_get(samples, "tree"), "frames"));
    }
    if (part == REPORT_TREE) {
        expand_owner(&w, report);
    }
    if (part >= REPORT_ALL) {
        expand_stacks(&w, json_object_get(samples, "stacks"), NULL);
        expand_stacks(&w, json_object_get(report, "threads"), "stack");
    }
    end(&w, report, notes);
}
