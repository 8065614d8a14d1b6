/* SPDX-License-Identifier: MIT */
#include "cli/export/otlp.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/sanitize.h"
#include "cli/export/formats.h"
#include "cli/export/stacks.h"
#include "cli/export/summary_text.h"
#include "cli/export/trace_link.h"
#include "cli/reader/own_frame.h"
#include "cli/reader/report_load.h"
#include "cli/reader/report_words.h"
#include "hangdog/hangdog.h"

#define NS_PER_S 1e9

enum {
    SEVERITY_INFO = 9,
    SEVERITY_WARN = 13,
    SEVERITY_ERROR = 17,
    SEVERITY_FATAL = 21
};

/* An attribute without a value is left out. */
static void put_text(json_t *list, const char *key, const char *text) {
    if (text != NULL && text[0] != '\0') {
        json_array_append_new(list, json_pack("{s:s, s:{s:s}}", "key", key, "value", "stringValue", text));
    }
}

/* Numbers of 64 bits are texts. */
static json_t *text_of(int64_t number) {
    return json_sprintf("%" PRId64, number);
}

static void put_number(json_t *list, const char *key, int64_t number) {
    if (number > 0) {
        json_array_append_new(list,
                              json_pack("{s:s, s:{s:o}}", "key", key, "value", "intValue", text_of(number)));
    }
}

static void put_seconds(json_t *list, const char *key, int64_t ns) {
    json_array_append_new(
        list, json_pack("{s:s, s:{s:f}}", "key", key, "value", "doubleValue", (double)ns / NS_PER_S));
}

static int severity(const json_t *report) {
    const char *kind = report_text(report, "kind");
    return export_is_fatal(report)                     ? SEVERITY_FATAL
           : report_words_kind_is(kind, HD_OF_REQUEST) ? SEVERITY_INFO
           : report_words_kind_is(kind, HD_OF_WARNING) ? SEVERITY_WARN
                                                       : SEVERITY_ERROR;
}

static json_t *resource_json(const json_t *report) {
    const json_t *app = json_object_get(report, "app"), *host = json_object_get(report, "host");
    const json_t *container = json_object_get(host, "container");
    json_t *list = json_array();
    put_text(list, "service.name", report_text(app, "name"));
    put_text(list, "service.version", report_text(app, "version"));
    put_text(list, "service.instance.id", report_text(app, "session"));
    put_text(list, "deployment.environment.name", report_text(app, "environment"));
    put_text(list, "process.executable.name", report_text(app, "executable"));
    put_text(list, "process.executable.build_id.gnu", report_text(app, "build_id"));
    put_number(list, "process.pid", export_number(app, "pid"));
    put_text(list, "os.type", report_text(host, "os"));
    put_text(list, "os.version", report_text(host, "os_version"));
    put_text(list, "host.name", report_text(host, "name"));
    put_text(list, "systemd.unit", report_text(host, "unit"));
    put_text(list, "container.id", report_text(container, "id"));
    put_text(list, "container.name", report_text(container, "name"));
    put_text(list, "container.image.name", report_text(container, "image"));
    put_text(list, "k8s.pod.uid", report_text(container, "pod"));
    put_text(list, "host.arch", strcmp(report_text(host, "arch"), "x86_64") == 0 ? "amd64" : "arm64");
    return json_pack("{s:o}", "attributes", list);
}

static json_t *attributes_json(const json_t *report, const char *title) {
    const json_t *pool = json_object_get(report, "pool"), *own = report_own_frame(report);
    const json_t *cause = json_object_get(report, "cause");
    json_t *list = json_array();
    char *stack = export_stack_text(report), *function = own != NULL ? export_frame_name(report, own) : NULL;
    put_text(list, "exception.type", export_type(report));
    put_text(list, "exception.message", title);
    put_text(list, "exception.stacktrace", stack);
    put_text(list, "thread.name",
             report_text(json_object_get(report, pool != NULL ? "pool" : "loop"), "name"));
    put_number(list, "thread.id", export_tid(report));
    put_text(list, "code.function.name", function);
    put_text(list, "code.file.path", report_text(own, "file"));
    put_number(list, "code.line.number", export_number(own, "line"));
    put_seconds(list, "app.hang.duration", export_number(report, "duration_ns"));
    put_text(list, "hangdog.kind", report_text(report, "kind"));
    put_text(list, "hangdog.cause", report_text(cause, "kind"));
    put_text(list, "hangdog.cause.detail", report_text(cause, "detail"));
    put_text(list, "hangdog.fingerprint", report_text(report, "fingerprint"));
    put_text(list, "hangdog.report.id", report_text(report, "id"));
    put_text(list, "hangdog.label", report_text(report, "label"));
    free(function);
    free(stack);
    return list;
}

/* Links the record to the span of the request that hung. */
static void link_trace(json_t *record, const char *traceparent) {
    struct export_trace trace;
    if (export_trace_of(traceparent, &trace)) {
        json_object_set_new(record, "traceId", json_string(trace.trace_id));
        json_object_set_new(record, "spanId", json_string(trace.span_id));
    }
}

static json_t *report_json(const json_t *report) {
    char *title = export_title(report);
    int grade = severity(report);
    json_t *record = json_pack("{s:o, s:i, s:s, s:s, s:{s:s}, s:o}", "timeUnixNano",
                               text_of(export_started_ns(report)), "severityNumber", grade, "severityText",
                               grade == SEVERITY_FATAL   ? "FATAL"
                               : grade == SEVERITY_ERROR ? "ERROR"
                               : grade == SEVERITY_WARN  ? "WARN"
                                                         : "INFO",
                               "eventName", "app.hang", "body", "stringValue", title != NULL ? title : "",
                               "attributes", attributes_json(report, title));
    free(title);
    link_trace(record, report_text(report, "traceparent"));
    return json_pack("{s:o, s:[{s:{s:s, s:s}, s:[o]}]}", "resource", resource_json(report), "scopeLogs",
                     "scope", "name", "hangdog", "version", HANGDOG_VERSION, "logRecords", record);
}

json_t *export_otlp_request(const json_t *reports) {
    json_t *list = json_array();
    const json_t *report;
    size_t i;
    json_array_foreach(reports, i, report) {
        if (json_array_append_new(list, report_json(report)) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return json_pack("{s:o}", "resourceLogs", list);
}

int export_otlp(FILE *out, const json_t *reports) {
    json_t *request = export_otlp_request(reports);
    errno = request != NULL ? errno : ENOMEM;
    bool well = request != NULL && sanitize_print_json(out, request, JSON_COMPACT | JSON_PRESERVE_ORDER) == 0;
    json_decref(request);
    return well ? 0 : -1;
}
