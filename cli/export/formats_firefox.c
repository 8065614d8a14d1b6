/* SPDX-License-Identifier: MIT
 *
 * A profile of the Firefox Profiler: the processed format, version 63, which newer viewers upgrade. A process
 * for each report, a marker for each hang. Weights are milliseconds.
 */
#include "cli/export/formats.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/path.h"
#include "cli/base/sanitize.h"
#include "cli/export/debug_id.h"
#include "cli/export/intern.h"
#include "cli/export/stacks.h"
#include "cli/reader/frame_origin.h"
#include "cli/reader/report_load.h"
#include "cli/reader/script_frames.h"
#include "cli/render/render.h"
#include "hangdog/hangdog.h"

#define VERSION 63
#define NS_PER_MS 1e6
#define PID_BYTES 48

enum {
    CATEGORY_OTHER,
    CATEGORY_OWN,
    CATEGORY_LIBRARY
};
enum {
    RESOURCE_LIBRARY = 1,
    PHASE_INTERVAL = 1
};

struct profile {
    json_t *shared, *threads, *libs;
    struct export_intern strings, sources, libraries, functions, frames, stacks;
    int64_t start_ns; /* of the first report */
    bool failed;
};

/* ---- tables: an object of columns ------------------------------------------------------------- */

static json_t *table_new(const char *const *columns) {
    json_t *table = json_object();
    for (; *columns != NULL; columns++) {
        json_object_set_new(table, *columns, json_array());
    }
    json_object_set_new(table, "length", json_integer(0));
    return table;
}

/* A row: NAME, a value, NAME, a value in the order of pack's format. */
static void add_row(json_t *table, json_t *row) {
    const char *name;
    json_t *value;
    json_object_foreach(row, name, value) {
        json_array_append(json_object_get(table, name), value);
    }
    json_object_set_new(table, "length",
                        json_integer(json_integer_value(json_object_get(table, "length")) + 1));
    json_decref(row);
}

static json_int_t string_number(struct profile *p, const char *text) {
    bool added;
    json_int_t number = (json_int_t)export_intern(&p->strings, text, &added);
    if (added) {
        json_array_append_new(json_object_get(p->shared, "stringArray"), json_string(text));
    }
    return number;
}

/* The number of a key that is made here. */
static json_int_t number_of(struct profile *p, struct export_intern *table, char *key, bool *added) {
    *added = false;
    p->failed |= key == NULL;
    json_int_t number = key != NULL ? (json_int_t)export_intern(table, key, added) : 0;
    free(key);
    return number;
}

/* ---- frames ----------------------------------------------------------------------------------- */

static json_t *source_number(struct profile *p, const char *file) {
    bool added;
    if (file[0] == '\0') {
        return json_null();
    }
    json_int_t number = (json_int_t)export_intern(&p->sources, file, &added);
    if (added) {
        add_row(json_object_get(p->shared, "sources"),
                json_pack("{s:n, s:I, s:i, s:i, s:n}", "id", "filename", string_number(p, file), "startLine",
                          1, "startColumn", 1, "sourceMapURL"));
    }
    return json_integer(number);
}

/* The resource and the library have the same number. -1: none. */
static json_int_t library_number(struct profile *p, const json_t *module) {
    const char *path = report_text(module, "path"), *build_id = report_text(module, "build_id");
    const char *name = base_name(path);
    char breakpad[DEBUG_ID_BYTES], *key = NULL;
    bool added;
    if (module == NULL || asprintf(&key, "%s\n%s", path, build_id) < 0) {
        return -1;
    }
    json_int_t number = number_of(p, &p->libraries, key, &added);
    if (added) {
        export_breakpad_id(breakpad, build_id);
        json_array_append_new(p->libs, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "arch", "", "name",
                                                 name, "path", path, "debugName", name, "debugPath", path,
                                                 "breakpadId", breakpad, "codeId", build_id));
        add_row(json_object_get(p->shared, "resourceTable"),
                json_pack("{s:i, s:I, s:I, s:n}", "type", RESOURCE_LIBRARY, "lib", number, "name",
                          string_number(p, name), "host"));
    }
    return number;
}

static json_int_t function_number(struct profile *p, const json_t *frame, const char *name,
                                  json_int_t library) {
    const char *file = report_text(frame, "file"), *language = script_frame_language(frame);
    bool js = language != NULL && strcmp(language, "javascript") == 0, added;
    char *key = NULL;
    if (asprintf(&key, "%s\n%s\n%" JSON_INTEGER_FORMAT, name, file, library) < 0) {
        key = NULL;
    }
    json_int_t number = number_of(p, &p->functions, key, &added);
    if (added) {
        add_row(json_object_get(p->shared, "funcTable"),
                json_pack("{s:I, s:b, s:b, s:I, s:o, s:n, s:n}", "name", string_number(p, name), "isJS", js,
                          "relevantForJS", false, "resource", library, "source", source_number(p, file),
                          "lineNumber", "columnNumber"));
    }
    return number;
}

/* In its library; that of a caller is one before the return address. -1: not known. */
static json_int_t address_of(const json_t *module, const json_t *frame, bool innermost) {
    uint64_t pc = export_address(frame, "pc"), base = export_address(module, "base");
    if (module == NULL || pc <= base || pc - base > INT32_MAX) {
        return -1;
    }
    return (json_int_t)(pc - base) - !innermost;
}

static json_int_t frame_number(struct profile *p, const json_t *report, const json_t *frame, bool innermost,
                               int depth) {
    const json_t *module = report_frame_module(report, frame);
    json_int_t library = library_number(p, module), address = address_of(module, frame, innermost), number;
    int64_t line = export_number(frame, "line");
    char *name = export_frame_name(report, frame), *key = NULL;
    bool added;
    json_int_t function = function_number(p, frame, name != NULL ? name : "?", library);
    int category = frame == NULL                        ? CATEGORY_OTHER
                   : report_frame_is_own(report, frame) ? CATEGORY_OWN
                                                        : CATEGORY_LIBRARY;
    free(name);
    if (asprintf(&key, "%" JSON_INTEGER_FORMAT " %" JSON_INTEGER_FORMAT " %" PRId64 " %d %d", function,
                 address, line, depth, category) < 0) {
        key = NULL;
    }
    number = number_of(p, &p->frames, key, &added);
    if (added) {
        add_row(json_object_get(p->shared, "frameTable"),
                json_pack("{s:I, s:i, s:i, s:i, s:I, s:n, s:i, s:o, s:n}", "address", address, "inlineDepth",
                          depth, "category", category, "subcategory", 0, "func", function, "nativeSymbol",
                          "innerWindowID", 0, "line", line > 0 ? json_integer(line) : json_null(), "column"));
    }
    return number;
}

static json_int_t stack_number(struct profile *p, const json_t *report, const struct export_stack *s) {
    json_int_t stack = -1;
    int depth = 0;
    size_t i = s->count;
    do {
        const json_t *frame = i > 0 ? s->frame[i - 1] : NULL;
        depth = json_is_true(json_object_get(frame, "inlined")) ? depth + 1 : 0;
        json_int_t number = frame_number(p, report, frame, i <= 1, depth), prefix = stack;
        char *key = NULL;
        bool added;
        if (asprintf(&key, "%" JSON_INTEGER_FORMAT " %" JSON_INTEGER_FORMAT, prefix, number) < 0) {
            key = NULL;
        }
        stack = number_of(p, &p->stacks, key, &added);
        if (added) {
            add_row(json_object_get(p->shared, "stackTable"),
                    json_pack("{s:I, s:o}", "frame", number, "prefix",
                              prefix >= 0 ? json_integer(prefix) : json_null()));
        }
    } while (i-- > 1);
    return stack;
}

/* ---- threads ---------------------------------------------------------------------------------- */

static const char *const sample_columns[] = {"stack", "time", "weight", NULL};
static const char *const marker_columns[] = {"name",     "startTime", "endTime", "phase",
                                             "category", "data",      NULL};

static json_t *markers_json(struct profile *p, const json_t *report, double start_ms, bool watched) {
    json_t *markers = table_new(marker_columns);
    char *cause = watched ? render_cause(report) : NULL;
    if (watched) {
        double end_ms = start_ms + (double)export_number(report, "duration_ns") / NS_PER_MS;
        add_row(markers,
                json_pack("{s:I, s:f, s:f, s:i, s:i, s:{s:s, s:s, s:s}}", "name",
                          string_number(p, report_text(report, "kind")), "startTime", start_ms, "endTime",
                          end_ms, "phase", PHASE_INTERVAL, "category", CATEGORY_OTHER, "data", "type", "Hang",
                          "cause", cause != NULL ? cause : "", "report", report_text(report, "id")));
    }
    free(cause);
    return markers;
}

static void add_thread(struct profile *p, const json_t *report, const struct export_thread *thread,
                       const char *pid) {
    const char *app = report_text(json_object_get(report, "app"), "name");
    double start_ms = (double)(export_started_ns(report) - p->start_ns) / NS_PER_MS;
    json_t *samples = table_new(sample_columns);
    char *label = export_thread_label(thread);
    for (size_t i = 0; i < thread->count; i++) {
        const struct export_stack *s = &thread->stack[i];
        add_row(samples,
                json_pack("{s:I, s:f, s:f}", "stack", stack_number(p, report, s), "time",
                          start_ms + (double)s->at_ns / NS_PER_MS, "weight", (double)s->ns / NS_PER_MS));
    }
    bool main = thread->watched || thread->timed;
    if (main) { /* the viewer's range ends with the last sample */
        add_row(samples,
                json_pack("{s:n, s:f, s:i}", "stack", "time",
                          start_ms + (double)export_number(report, "duration_ns") / NS_PER_MS, "weight", 0));
    }
    json_object_set_new(samples, "weightType", json_string("tracing-ms"));
    json_t *one =
        json_pack("{s:s, s:s, s:s, s:b, s:s, s:I, s:f, s:n, s:f, s:n, s:[], s:o, s:o}", "name",
                  label != NULL ? label : "", "processName", app, "processType", "default", "isMainThread",
                  main, "pid", pid, "tid", (json_int_t)thread->tid, "registerTime", start_ms,
                  "unregisterTime", "processStartupTime", start_ms, "processShutdownTime", "pausedRanges",
                  "samples", samples, "markers", markers_json(p, report, start_ms, main));
    p->failed |= json_array_append_new(p->threads, one) != 0 || label == NULL;
    free(label);
}

static void add_report(struct profile *p, const json_t *report, size_t index) {
    struct export_threads threads;
    char pid[PID_BYTES];
    int64_t number = export_number(json_object_get(report, "app"), "pid");
    snprintf(pid, sizeof pid, index > 0 ? "%" PRId64 ".%zu" : "%" PRId64, number, index);
    p->failed |= !export_threads_read(report, &threads);
    for (size_t i = 0; !p->failed && i < threads.count; i++) {
        add_thread(p, report, &threads.thread[i], pid);
    }
    export_threads_free(&threads);
}

/* ---- the profile ------------------------------------------------------------------------------ */

static json_t *meta_json(const struct profile *p, const json_t *reports) {
    const json_t *first = json_array_get(reports, 0);
    double interval_ms = (double)export_number(json_object_get(first, "samples"), "interval_ns") / NS_PER_MS;
    json_t *categories =
        json_pack("[{s:s, s:s, s:[s]}, {s:s, s:s, s:[s]}, {s:s, s:s, s:[s]}]", "name", "Other", "color",
                  "grey", "subcategories", "Other", "name", "Own functions", "color", "orange",
                  "subcategories", "Other", "name", "Libraries", "color", "blue", "subcategories", "Other");
    json_t *schema =
        json_pack("[{s:s, s:s, s:s, s:[s, s, s], s:[{s:s, s:s, s:s}, {s:s, s:s, s:s}]}]", "name", "Hang",
                  "chartLabel", "{marker.data.cause}", "tableLabel", "{marker.data.cause}", "display",
                  "marker-chart", "marker-table", "timeline-overview", "fields", "key", "cause", "label",
                  "Cause", "format", "string", "key", "report", "label", "Report", "format", "string");
    return json_pack("{s:f, s:f, s:i, s:i, s:i, s:s, s:i, s:b, s:b, s:b, s:s, s:o, s:o}", "interval",
                     interval_ms > 0 ? interval_ms : 1, "startTime", (double)p->start_ns / NS_PER_MS,
                     "version", 24, "preprocessedProfileVersion", VERSION, "processType", 0, "product",
                     report_text(json_object_get(first, "app"), "name"), "stackwalk", 1, "symbolicated", true,
                     "usesOnlyOneStackType", true, "sourceCodeIsNotOnSearchfox", true, "importedFrom",
                     "Hangdog " HANGDOG_VERSION, "categories", categories, "markerSchema", schema);
}

static json_t *shared_json(void) {
    static const struct {
        const char *name, *columns[12];
    } tables[] = {
        {"sources", {"id", "filename", "startLine", "startColumn", "sourceMapURL"}},
        {"frameTable",
         {"address", "inlineDepth", "category", "subcategory", "func", "nativeSymbol", "innerWindowID",
          "line", "column"}},
        {"funcTable", {"name", "isJS", "relevantForJS", "resource", "source", "lineNumber", "columnNumber"}},
        {"resourceTable", {"type", "lib", "name", "host"}},
        {"nativeSymbols", {"libIndex", "address", "name", "functionSize"}},
        {"stackTable", {"frame", "prefix"}},
    };
    json_t *shared = json_pack("{s:[]}", "stringArray");
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        json_object_set_new(shared, tables[i].name, table_new(tables[i].columns));
    }
    return shared;
}

/* The times of all reports are since the first one's start. */
static int64_t first_start_ns(const json_t *reports) {
    const json_t *report;
    int64_t first = INT64_MAX;
    size_t i;
    json_array_foreach(reports, i, report) {
        int64_t ns = export_started_ns(report);
        first = ns < first ? ns : first;
    }
    return first < INT64_MAX ? first : 0;
}

int export_firefox(FILE *out, const json_t *reports) {
    enum {
        TABLES = 6
    };
    struct profile p = {.shared = shared_json(), .threads = json_array(), .libs = json_array()};
    struct export_intern *const tables[TABLES] = {&p.strings,   &p.sources, &p.libraries,
                                                  &p.functions, &p.frames,  &p.stacks};
    const json_t *report;
    size_t i;
    p.start_ns = first_start_ns(reports);
    for (i = 0; i < TABLES; i++) {
        p.failed |= !export_intern_init(tables[i]);
    }
    json_array_foreach(reports, i, report) {
        add_report(&p, report, i);
    }
    json_t *all = json_pack("{s:o, s:o, s:o, s:o, s:[]}", "meta", meta_json(&p, reports), "libs", p.libs,
                            "shared", p.shared, "threads", p.threads, "pages");
    for (i = 0; i < TABLES; i++) {
        export_intern_free(tables[i]);
    }
    bool well = !p.failed && all != NULL;
    errno = well ? errno : ENOMEM;
    well = well && sanitize_print_json(out, all, JSON_COMPACT | JSON_PRESERVE_ORDER) == 0;
    json_decref(all);
    return well ? 0 : -1;
}
