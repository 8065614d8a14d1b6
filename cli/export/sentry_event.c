/* SPDX-License-Identifier: MIT */
#include "cli/export/sentry.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/path.h"
#include "cli/base/sanitize.h"
#include "cli/export/debug_id.h"
#include "cli/export/stacks.h"
#include "cli/export/summary_text.h"
#include "cli/export/trace_link.h"
#include "cli/reader/frame_origin.h"
#include "cli/reader/own_frame.h"
#include "cli/reader/report_load.h"
#include "cli/reader/script_frames.h"
#include "cli/render/render.h"
#include "hangdog/hangdog.h"

#define NS_PER_S 1e9
#define NS_PER_MS 1000000
#define FRAMES_MAX 250 /* Sentry keeps so many */
#define TAG_BYTES 200

static json_t *address_json(const json_t *object, const char *name) {
    return json_sprintf("0x%" PRIx64, export_address(object, name));
}

/* ---- frames ----------------------------------------------------------------------------------- */

static const char *platform_of(const json_t *frame) {
    const char *language = script_frame_language(frame);
    return language == NULL                      ? NULL
           : strcmp(language, "javascript") == 0 ? "node"
           : strcmp(language, "python") == 0     ? "python"
                                                 : "other";
}

static json_t *frame_json(const json_t *report, const json_t *frame) {
    const char *file = report_text(frame, "file"),
               *path = report_text(report_frame_module(report, frame), "path");
    char *name = export_frame_name(report, frame);
    json_t *out = json_pack("{s:s, s:b}", "function", name != NULL ? name : "?", "in_app",
                            report_frame_is_own(report, frame));
    free(name);
    if (platform_of(frame) != NULL) {
        json_object_set_new(out, "platform", json_string(platform_of(frame)));
    } else if (export_address(frame, "pc") != 0) {
        json_object_set_new(out, "instruction_addr", address_json(frame, "pc"));
        if (path[0] != '\0') {
            json_object_set_new(out, "package", json_string(path));
        }
    }
    if (file[0] != '\0') {
        json_object_set_new(out, "filename", json_string(base_name(file)));
        json_object_set_new(out, "abs_path", json_string(file));
    }
    if (export_number(frame, "line") > 0) {
        json_object_set_new(out, "lineno", json_integer(export_number(frame, "line")));
    }
    return out;
}

/* Outermost first. NULL: there is none. */
static json_t *stacktrace_json(const json_t *report, const json_t *frames) {
    json_t *list = json_array();
    size_t n = json_array_size(frames);
    n = n < FRAMES_MAX ? n : FRAMES_MAX;
    for (size_t i = n; i > 0; i--) {
        const json_t *frame = json_array_get(frames, i - 1);
        if (json_is_object(frame) && !report_frame_is_ours(report, frame)) {
            json_array_append_new(list, frame_json(report, frame));
        }
    }
    if (json_array_size(list) == 0) {
        json_decref(list);
        return NULL;
    }
    return json_pack("{s:o}", "frames", list);
}

/* ---- parts of the event ----------------------------------------------------------------------- */

static json_t *exception_json(const json_t *report) {
    bool fatal = export_is_fatal(report);
    char *title = export_title(report), *cause = render_cause(report);
    int64_t tid = export_tid(report);
    json_t *mechanism =
        json_pack("{s:s, s:b, s:b, s:{s:I, s:s}}", "type", "AppHang", "handled", !fatal, "synthetic", true,
                  "data", "duration_ms", (json_int_t)(export_number(report, "duration_ns") / NS_PER_MS),
                  "cause", cause != NULL ? cause : "");
    json_t *stack = stacktrace_json(report, json_object_get(json_object_get(report, "hot_stack"), "frames"));
    json_t *one = json_pack("{s:s, s:s, s:I, s:o, s:o*}", "type", export_type(report), "value",
                            title != NULL ? title : "", "thread_id", (json_int_t)tid, "mechanism", mechanism,
                            "stacktrace", stack);
    free(title);
    free(cause);
    return json_pack("{s:[o]}", "values", one);
}

static json_t *threads_json(const json_t *report) {
    const json_t *thread, *loop = json_object_get(report, "loop");
    int64_t watched = export_number(loop, "tid"), current = export_tid(report);
    json_t *list = json_pack(
        "[{s:I, s:s, s:b, s:b}]", "id", (json_int_t)watched, "name", report_text(loop, "name"), "main",
        watched == export_number(json_object_get(report, "app"), "pid"), "current", watched == current);
    size_t i;
    json_array_foreach(json_object_get(report, "threads"), i, thread) {
        int64_t tid = export_number(thread, "tid");
        if (!json_is_object(thread) || tid == watched) {
            continue;
        }
        json_array_append_new(
            list,
            json_pack("{s:I, s:s, s:s, s:b, s:o*}", "id", (json_int_t)tid, "name",
                      report_text(thread, "name"), "state", report_text(thread, "state"), "current",
                      tid == current, "stacktrace",
                      stacktrace_json(report, json_object_get(json_object_get(thread, "stack"), "frames"))));
    }
    return json_pack("{s:o}", "values", list);
}

static json_t *images_json(const json_t *report) {
    json_t *list = json_array();
    const json_t *module;
    char id[DEBUG_ID_BYTES];
    size_t i;
    json_array_foreach(json_object_get(report, "modules"), i, module) {
        const char *build_id = report_text(module, "build_id");
        if (export_debug_id(id, build_id)) {
            json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:o, s:I, s:s, s:s}", "type", "elf",
                                                  "code_id", build_id, "debug_id", id, "image_addr",
                                                  address_json(module, "base"), "image_size",
                                                  (json_int_t)export_number(module, "size"), "code_file",
                                                  report_text(module, "path"), "arch",
                                                  report_text(json_object_get(report, "host"), "arch")));
        }
    }
    return json_pack("{s:o}", "images", list);
}

static json_t *contexts_json(const json_t *report) {
    const json_t *app = json_object_get(report, "app"), *host = json_object_get(report, "host");
    return json_pack("{s:{s:s, s:s, s:s}, s:{s:s, s:I}, s:{s:s, s:s, s:s}}", "os", "name", "Linux", "version",
                     report_text(host, "os_version"), "kernel_version", report_text(host, "kernel"), "device",
                     "arch", report_text(host, "arch"), "memory_size",
                     (json_int_t)export_number(host, "memory_bytes"), "app", "app_name",
                     report_text(app, "name"), "app_version", report_text(app, "version"), "app_start_time",
                     report_text(app, "started_at"));
}

/* Links the event to the span of the request that hung. */
static void link_trace(json_t *contexts, const char *traceparent) {
    struct export_trace trace;
    if (export_trace_of(traceparent, &trace)) {
        json_object_set_new(contexts, "trace",
                            json_pack("{s:s, s:s}", "trace_id", trace.trace_id, "span_id", trace.span_id));
    }
}

/* A tag is short and has no new line. */
static void put_tag(json_t *tags, const char *name, const char *value) {
    if (value[0] != '\0' && strlen(value) <= TAG_BYTES && sanitize_is_plain(value)) {
        json_object_set_new(tags, name, json_string(value));
    }
}

static json_t *tags_json(const json_t *report) {
    const json_t *loop = json_object_get(report, "loop");
    json_t *tags = json_object(), *value;
    const char *name;
    put_tag(tags, "hang.kind", report_text(report, "kind"));
    put_tag(tags, "hang.cause", report_text(json_object_get(report, "cause"), "kind"));
    put_tag(tags, "hang.loop", report_text(loop, "name"));
    put_tag(tags, "hang.pool", report_text(json_object_get(report, "pool"), "name"));
    put_tag(tags, "hang.state", report_text(loop, "state"));
    put_tag(tags, "hang.label", report_text(report, "label"));
    json_object_foreach(json_object_get(json_object_get(report, "app"), "tags"), name, value) {
        if (json_is_string(value) && sanitize_is_plain(name) && json_object_size(tags) < 50) {
            put_tag(tags, name, json_string_value(value));
        }
    }
    return tags;
}

/* Reports of one fingerprint are one issue. Without it the function says it. */
static json_t *fingerprint_json(const json_t *report) {
    const char *fingerprint = report_text(report, "fingerprint");
    char *function = fingerprint[0] == '\0' ? render_own_function(report, 0) : NULL;
    json_t *list = json_pack("[s, s, s]", "hangdog", export_type(report),
                             fingerprint[0] != '\0' ? fingerprint
                             : function != NULL     ? function
                                                    : report_text(report, "id"));
    free(function);
    return list;
}

json_t *sentry_event_make(const json_t *report, const char *id) {
    const json_t *app = json_object_get(report, "app");
    const char *version = report_text(app, "version"), *environment = report_text(app, "environment");
    json_t *release = version[0] != '\0' ? json_sprintf("%s@%s", report_text(app, "name"), version) : NULL;
    json_t *event = json_pack("{s:s, s:f, s:s, s:s, s:s, s:o*, s:s*, s:{s:s, s:s}}", "event_id", id,
                              "timestamp", (double)export_started_ns(report) / NS_PER_S, "platform", "native",
                              "level", export_is_fatal(report) ? "fatal" : "error", "logger", "hangdog",
                              "release", release, "environment", environment[0] != '\0' ? environment : NULL,
                              "sdk", "name", "hangdog", "version", HANGDOG_VERSION);
    json_object_set_new(event, "fingerprint", fingerprint_json(report));
    json_object_set_new(event, "exception", exception_json(report));
    json_object_set_new(event, "threads", threads_json(report));
    json_object_set_new(event, "debug_meta", images_json(report));
    json_t *contexts = contexts_json(report);
    json_object_set_new(event, "contexts", contexts);
    link_trace(contexts, report_text(report, "traceparent"));
    json_object_set_new(event, "tags", tags_json(report));
    return event;
}
