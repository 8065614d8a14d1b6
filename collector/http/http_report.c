/* SPDX-License-Identifier: MIT
 *
 * GET /api/v1/reports/ID: one report as JSON, as text, and as a download in another program's format.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/export/formats.h"
#include "cli/render/render.h"
#include "collector/http/http_private.h"

#define TEXT_COLUMNS 100
#define FRAMES_MAX 16384 /* of threads; the library writes 3,200 before names are looked up */

/* The command renders and exports in one thread. */
static pthread_mutex_t rendering = PTHREAD_MUTEX_INITIALIZER;

static int write_text(FILE *out, const json_t *report) {
    const struct render_options options = {
        .width = TEXT_COLUMNS, .threads = true, .dated = true, .not_kept = true, .frames_max = FRAMES_MAX};
    return render_report(out, report, &options);
}

static int write_export(FILE *out, const json_t *report, const struct export_format *format) {
    json_t *reports = json_pack("[O]", report);
    int result = reports != NULL ? format->write(out, reports) : -1;
    json_decref(reports);
    return result;
}

/* `format` NULL: as `hangdog show` prints it. NULL: it cannot be written so. The caller frees. */
static char *write_report(const char *report, size_t bytes, const struct export_format *format,
                          size_t *written) {
    char *text = NULL;
    json_t *json = json_loadb(report, bytes, 0, NULL);
    FILE *out = json != NULL ? open_memstream(&text, written) : NULL;
    pthread_mutex_lock(&rendering);
    bool whole =
        out != NULL && (format == NULL ? write_text(out, json) : write_export(out, json, format)) == 0;
    pthread_mutex_unlock(&rendering);
    whole = out != NULL && fclose(out) == 0 && whole;
    json_decref(json);
    if (!whole) {
        free(text);
        return NULL;
    }
    return text;
}

static enum MHD_Result answer_written(struct MHD_Connection *c, const char *report, size_t bytes,
                                      const struct export_format *format, const char *id) {
    char file[128] = "";
    const char *type = "text/plain; charset=utf-8";
    size_t written = 0;
    char *text = write_report(report, bytes, format, &written);
    if (text == NULL) {
        return http_refuse(c, MHD_HTTP_INTERNAL_SERVER_ERROR, 0, "the report has no such form");
    }
    if (format != NULL) {
        snprintf(file, sizeof file, "hangdog-%.8s%s", id, format->suffix);
        type = format->type;
    }
    return http_answer_text(c, type, file, text, written);
}

static enum MHD_Result refuse_format(struct MHD_Connection *c) {
    char formats[160], why[180];
    export_format_list(formats, sizeof formats, export_format_is_of_reports, " or ");
    snprintf(why, sizeof why, "want %s", formats);
    return http_refuse(c, MHD_HTTP_NOT_FOUND, 0, why);
}

/* Of the formats those that are of one report; `known` false: there is no such one. */
static const struct export_format *format_of(const char *name, bool *known) {
    const struct export_format *format = export_format_of(name);
    *known = strcmp(format->name, name) == 0 && !format->of_spool;
    return format;
}

enum MHD_Result http_report(struct http *h, struct MHD_Connection *c, const char *id, const char *part,
                            const char *name) {
    bool known = true;
    size_t bytes = 0;
    const struct export_format *format = strcmp(part, "export") == 0 ? format_of(name, &known) : NULL;
    if (!known) {
        return refuse_format(c);
    }
    void *body = store_report_body(h->store, id, &bytes);
    if (body == NULL) {
        return http_refuse(c, MHD_HTTP_NOT_FOUND, 0, "it is not in the store");
    }
    if (part[0] == '\0') {
        return http_answer_report(c, body, bytes);
    }
    size_t text_bytes = 0;
    char *report = row_text(body, bytes, &text_bytes);
    free(body);
    enum MHD_Result result = report != NULL ? answer_written(c, report, text_bytes, format, id)
                                            : http_refuse(c, MHD_HTTP_INTERNAL_SERVER_ERROR, 0,
                                                          "the report is damaged in the store");
    free(report);
    return result;
}
