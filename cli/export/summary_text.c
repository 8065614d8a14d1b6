/* SPDX-License-Identifier: MIT */
#include "cli/export/summary_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/sanitize.h"
#include "cli/export/stacks.h"
#include "cli/reader/frame_origin.h"
#include "cli/reader/report_load.h"
#include "cli/reader/report_words.h"
#include "cli/render/render.h"
#include "cli/render/render_parts.h"

char *export_title(const json_t *report) {
    char ns[RENDER_DURATION_BYTES], *function = render_own_function(report, 0), *text = NULL;
    bool pool = strcmp(report_text(report, "kind"), "pool-stall") == 0;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (out != NULL) {
        fprintf(out, "%s of %s", pool ? "pool stall" : report_text(report, "kind"),
                render_duration(ns, export_number(report, "duration_ns")));
        if (pool) {
            fputs(": ", out);
            render_pool(out, report);
        }
        fprintf(out, function != NULL ? " in %s" : "", function);
        if (fclose(out) != 0) {
            free(text);
            text = NULL;
        }
    }
    free(function);
    if (text != NULL) {
        sanitize_text(text);
    }
    return text;
}

char *export_stack_text(const json_t *report) {
    const json_t *frame, *frames = json_object_get(json_object_get(report, "hot_stack"), "frames");
    const struct page p = {.report = report};
    char *text = NULL;
    size_t bytes = 0, i;
    FILE *out = open_memstream(&text, &bytes);
    if (out == NULL) {
        return NULL;
    }
    json_array_foreach(frames, i, frame) {
        if (i < EXPORT_DEPTH_MAX && !report_frame_is_ours(report, frame)) {
            char *function = render_function(&p, frame, 0);
            fputs("at ", out);
            sanitize_print(out, function);
            fputc('\n', out);
            free(function);
        }
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

bool export_is_fatal(const json_t *report) {
    return report_words_kind_is(report_text(report, "kind"), HD_OF_END);
}

const char *export_type(const json_t *report) {
    const char *kind = report_text(report, "kind");
    const char *signal = report_text(json_object_get(report, "crash"), "signal");
    if (report_words_kind_is(kind, HD_OF_HANG)) {
        return export_is_fatal(report) ? "FatalAppHang" : "AppHang";
    }
    return strcmp(kind, "crash") == 0 && signal[0] != '\0' ? signal : kind;
}
