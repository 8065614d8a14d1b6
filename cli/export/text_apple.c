/* SPDX-License-Identifier: MIT */
#include "cli/export/text_apple.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/path.h"
#include "cli/base/sanitize.h"
#include "cli/export/stacks.h"
#include "cli/reader/frame_origin.h"
#include "cli/reader/report_load.h"
#include "cli/render/render.h"

static const char *os_of(const json_t *report) {
    return report_text(json_object_get(report, "host"), "os");
}

bool text_apple_is(const json_t *report) {
    return strcmp(os_of(report), "macos") == 0 || strcmp(os_of(report), "ios") == 0;
}

static bool is_arm(const json_t *report) {
    return strcmp(report_text(json_object_get(report, "host"), "arch"), "aarch64") == 0;
}

/* "Label:           VALUE", without a value nothing. */
static void put_line(FILE *out, const char *label, const char *value) {
    if (value != NULL && value[0] != '\0') {
        fprintf(out, "%-20s ", label);
        sanitize_print(out, value);
        fputc('\n', out);
    }
}

/* "2026-01-31T12:00:00.123456789Z" as "2026-01-31 12:00:00.123 +0000". */
static void put_time(FILE *out, const char *label, const char *time) {
    enum {
        DATE = 10,
        CLOCK = 12
    };
    char text[DATE + CLOCK + 8];
    if (strlen(time) > DATE + CLOCK) {
        snprintf(text, sizeof text, "%.*s %.*s +0000", DATE, time, CLOCK, time + DATE + 1);
        put_line(out, label, text);
    }
}

/* A report has "macOS 14.5 (23F79)", and Apple's text another word for iOS. */
static void put_system(FILE *out, const json_t *report) {
    const char *version = report_text(json_object_get(report, "host"), "os_version");
    fprintf(out, "%-20s %s ", "OS Version:", strcmp(os_of(report), "ios") == 0 ? "iPhone OS" : "macOS");
    sanitize_print(out, version + strcspn(version, "0123456789"));
    fputc('\n', out);
}

/* The first module is the program. */
static const char *program_path(const json_t *report) {
    return report_text(json_array_get(json_object_get(report, "modules"), 0), "path");
}

static void put_event(FILE *out, const json_t *report) {
    char duration[RENDER_DURATION_BYTES], *why = render_cause(report);
    const char *signal = report_text(json_object_get(report, "crash"), "signal");
    fputc('\n', out);
    put_line(out, "Exception Type:", signal[0] != '\0' ? signal : report_text(report, "kind"));
    if (export_number(report, "duration_ns") > 0) {
        put_line(out, "Hang Duration:", render_duration(duration, export_number(report, "duration_ns")));
    }
    put_line(out, "Hang Cause:", why);
    put_line(out, "Triggered by Thread:", "0");
    free(why);
}

static void put_header(FILE *out, const json_t *report) {
    const json_t *app = json_object_get(report, "app"), *host = json_object_get(report, "host");
    char *process;
    if (asprintf(&process, "%s [%" PRId64 "]", report_text(app, "name"), export_number(app, "pid")) < 0) {
        process = NULL;
    }
    put_line(out, "Incident Identifier:", report_text(report, "id"));
    put_line(out, "Hardware Model:", report_text(host, "model"));
    put_line(out, "Process:", process);
    put_line(out, "Path:", program_path(report));
    put_line(out, "Identifier:", report_text(app, "executable"));
    put_line(out, "Version:", report_text(app, "version"));
    put_line(out, "Code Type:", is_arm(report) ? "ARM-64 (Native)" : "X86-64 (Native)");
    put_time(out, "Date/Time:", report_text(report, "started_at"));
    put_time(out, "Launch Time:", report_text(app, "started_at"));
    put_system(out, report);
    put_line(out, "Report Version:", "104");
    free(process);
    put_event(out, report);
}

/* "0   App   0x0000000104b1c2f0 resize_image + 12 (lib.c:7)". Without a name the base of the image takes its
 * place: symbolizers look for that form. */
static void put_frame(FILE *out, const json_t *report, const json_t *frame, size_t i) {
    const json_t *module = report_frame_module(report, frame);
    const char *image = base_name(report_text(module, "path")), *file = file_name(report_text(frame, "file"));
    uint64_t pc = export_address(frame, "pc"), start = export_address(frame, "start");
    uint64_t base = export_address(module, "base"), offset = export_address(frame, "offset");
    fprintf(out, "%-4zu", i);
    sanitize_print(out, image[0] != '\0' ? image : "???");
    fprintf(out, "%*s\t0x%016" PRIx64 " ", strlen(image) < 30 ? (int)(30 - strlen(image)) : 1, "", pc);
    if (report_text(frame, "function")[0] == '\0') {
        fprintf(out, "0x%" PRIx64 " + %" PRIu64 "\n", base, pc - base);
        return;
    }
    sanitize_print(out, report_text(frame, "function"));
    fprintf(out, " + %" PRIu64, start != 0 && offset > start ? offset - start : 0);
    if (file[0] != '\0') {
        fputs(" (", out);
        sanitize_print(out, file);
        fprintf(out, ":%" PRId64 ")", export_number(frame, "line"));
    }
    fputc('\n', out);
}

static void put_stack(FILE *out, const json_t *report, const json_t *stack) {
    const json_t *frame;
    size_t i, n = 0;
    json_array_foreach(json_object_get(stack, "frames"), i, frame) {
        if (n < EXPORT_DEPTH_MAX && !report_frame_is_ours(report, frame)) {
            put_frame(out, report, frame, n++);
        }
    }
}

static void put_thread_head(FILE *out, size_t number, const char *name, bool crashed) {
    if (name[0] != '\0') {
        fprintf(out, "\nThread %zu name:  ", number);
        sanitize_print(out, name);
    }
    fprintf(out, "\nThread %zu%s:\n", number, crashed ? " Crashed" : "");
}

static void put_threads(FILE *out, const json_t *report) {
    const json_t *thread;
    size_t i, number = 1;
    json_array_foreach(json_object_get(report, "threads"), i, thread) {
        if (number < EXPORT_THREADS_MAX && !json_is_true(json_object_get(thread, "watched"))) {
            put_thread_head(out, number++, report_text(thread, "name"), false);
            put_stack(out, report, json_object_get(thread, "stack"));
        }
    }
}

static void put_images(FILE *out, const json_t *report) {
    const json_t *module;
    size_t i;
    fputs("\nBinary Images:\n", out);
    json_array_foreach(json_object_get(report, "modules"), i, module) {
        uint64_t base = export_address(module, "base"), size = (uint64_t)export_number(module, "size");
        fprintf(out, "%#18" PRIx64 " - %#18" PRIx64 " ", base, size > 0 ? base + size - 1 : base);
        sanitize_print(out, base_name(report_text(module, "path")));
        fprintf(out, " %s  <", is_arm(report) ? "arm64" : "x86_64");
        sanitize_print(out, report_text(module, "build_id"));
        fputs("> ", out);
        sanitize_print(out, report_text(module, "path"));
        fputc('\n', out);
    }
}

bool text_apple_put(FILE *out, const json_t *report, bool (*tree)(FILE *out, const json_t *report)) {
    const json_t *crash = json_object_get(report, "crash");
    put_header(out, report);
    put_thread_head(out, 0, report_text(json_object_get(report, "loop"), "name"), json_is_object(crash));
    put_stack(out, report, json_object_get(report, "hot_stack"));
    put_threads(out, report);
    put_images(out, report);
    fputs("\nCall tree (ms):\n", out);
    bool well = tree(out, report);
    fputs("\nEOF\n", out);
    return well;
}
