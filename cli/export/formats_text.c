/* SPDX-License-Identifier: MIT
 *
 * A report as text for issue trackers and mail, in the form of Apple's spindump. It has a header, the
 * heaviest stack, a call tree for each thread, and the modules.
 */
#include "cli/export/formats.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/path.h"
#include "cli/base/sanitize.h"
#include "cli/export/call_tree.h"
#include "cli/export/stacks.h"
#include "cli/export/text_apple.h"
#include "cli/reader/frame_origin.h"
#include "cli/reader/report_load.h"
#include "cli/render/render.h"

#define NS_PER_MS 1000000

/* "Label:           VALUE", without a value nothing. */
static void put_line(FILE *out, const char *label, const char *value) {
    if (value != NULL && value[0] != '\0') {
        fprintf(out, "%-17s", label);
        sanitize_print(out, value);
        fputc('\n', out);
    }
}

static void put_duration(FILE *out, const char *label, int64_t ns) {
    char text[RENDER_DURATION_BYTES];
    if (ns > 0) {
        put_line(out, label, render_duration(text, ns));
    }
}

static void put_header(FILE *out, const json_t *report) {
    const json_t *app = json_object_get(report, "app"), *host = json_object_get(report, "host");
    const json_t *samples = json_object_get(report, "samples");
    char *why = render_cause(report), *function = render_own_function(report, 0);
    fprintf(out, "%-17s", "Process:");
    sanitize_print(out, report_text(app, "name"));
    fprintf(out, " [%" PRId64 "]\n", export_number(app, "pid"));
    put_line(out, "Identifier:", report_text(app, "executable"));
    put_line(out, "Version:", report_text(app, "version"));
    put_line(out, "Build UUID:", report_text(app, "build_id"));
    put_line(out, "Code Type:", report_text(host, "arch"));
    put_line(out, "OS Version:", report_text(host, "os_version"));
    put_line(out, "Kernel:", report_text(host, "kernel"));
    put_line(out, "Date/Time:", report_text(report, "started_at"));
    put_line(out, "Incident:", report_text(report, "id"));
    put_line(out, "Report Version:", report_text(report, "format"));
    put_line(out, "Event:", report_text(report, "kind"));
    put_duration(out, "Duration:", export_number(report, "duration_ns"));
    put_line(out, "Function:", function);
    put_line(out, "Cause:", why);
    fprintf(out, "%-17s%" PRId64 "\n", "Samples:", export_number(samples, "taken"));
    put_duration(out, "Interval:", export_number(samples, "interval_ns"));
    free(function);
    free(why);
}

/* "lookup + 12 (lock.c:13, in app) [0x7f01]" */
static void put_frame(FILE *out, const json_t *report, const json_t *frame) {
    const json_t *module = report_frame_module(report, frame);
    const char *file = file_name(report_text(frame, "file")), *path = base_name(report_text(module, "path"));
    uint64_t start = export_address(frame, "start"), offset = export_address(frame, "offset");
    char *name = export_frame_name(report, frame);
    sanitize_print(out, name);
    free(name);
    if (start != 0 && offset > start) {
        fprintf(out, " + %" PRIu64, offset - start);
    }
    if (file[0] != '\0' || path[0] != '\0') {
        fputs(" (", out);
        sanitize_print(out, file);
        if (file[0] != '\0' && export_number(frame, "line") > 0) {
            fprintf(out, ":%" PRId64, export_number(frame, "line"));
        }
        fputs(file[0] != '\0' && path[0] != '\0' ? ", in " : path[0] != '\0' ? "in " : "", out);
        sanitize_print(out, path);
        fputc(')', out);
    }
    fprintf(out, " [0x%" PRIx64 "]\n", export_address(frame, "pc"));
}

static void put_node(void *context, const struct export_node *node) {
    FILE *out = context;
    fprintf(out, "  %*s%" PRId64 "  ", 2 * (node->depth < 100 ? node->depth : 100), "", node->ns / NS_PER_MS);
    if (node->frame != NULL) {
        put_frame(out, node->report, node->frame);
    } else {
        fputs("(no stack)\n", out);
    }
}

static void put_heaviest(FILE *out, const json_t *report) {
    const json_t *frames = json_object_get(json_object_get(report, "hot_stack"), "frames");
    size_t n = json_array_size(frames);
    n = n < EXPORT_DEPTH_MAX ? n : EXPORT_DEPTH_MAX;
    if (n > 0) {
        fprintf(out, "\nHeaviest stack of the %s:\n",
                json_object_get(report, "pool") != NULL ? "pool's threads" : "watched thread");
    }
    for (; n > 0; n--) {
        const json_t *frame = json_array_get(frames, n - 1);
        if (!report_frame_is_ours(report, frame)) {
            double share = json_number_value(json_object_get(frame, "share"));
            fprintf(out, "  %3.0f%%  ", share >= 0 && share <= 1 ? share * 100 : 0);
            put_frame(out, report, frame);
        }
    }
}

static void put_modules(FILE *out, const json_t *report) {
    const json_t *module;
    size_t i;
    fputs("\nBinary Images:\n", out);
    json_array_foreach(json_object_get(report, "modules"), i, module) {
        uint64_t base = export_address(module, "base"), size = (uint64_t)export_number(module, "size");
        fprintf(out, "%#18" PRIx64 " - %#18" PRIx64 "  ", base, size > 0 ? base + size - 1 : base);
        sanitize_print(out, base_name(report_text(module, "path")));
        fputs(" <", out);
        sanitize_print(out, report_text(module, "build_id"));
        fputs("> ", out);
        sanitize_print(out, report_text(module, "path"));
        fputc('\n', out);
    }
}

static bool put_threads(FILE *out, const json_t *report) {
    struct export_threads threads;
    bool well = export_threads_read(report, &threads);
    for (size_t i = 0; well && i < threads.count; i++) {
        const struct export_thread *thread = &threads.thread[i];
        fprintf(out, "\nThread %" PRId64, thread->tid);
        if (thread->name[0] != '\0') {
            fputs("    Thread name \"", out);
            sanitize_print(out, thread->name);
            fputc('"', out);
        }
        fprintf(out, "    %" PRId64 " ms%s\n", export_thread_ns(thread) / NS_PER_MS,
                thread->watched || thread->timed ? "" : ", sampled once");
        well = export_call_tree(report, thread, put_node, out);
    }
    export_threads_free(&threads);
    return well;
}

int export_text(FILE *out, const json_t *reports) {
    const json_t *report;
    bool well = true;
    size_t i;
    json_array_foreach(reports, i, report) {
        fputs(i > 0 ? "\n\n" : "", out);
        if (text_apple_is(report)) {
            well = well && text_apple_put(out, report, put_threads);
            continue;
        }
        put_header(out, report);
        put_heaviest(out, report);
        well = well && put_threads(out, report);
        put_modules(out, report);
    }
    errno = well ? errno : ENOMEM;
    return well && !ferror(out) ? 0 : -1;
}
