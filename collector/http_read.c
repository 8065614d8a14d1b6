/* SPDX-License-Identifier: MIT
 *
 * GET: the page's files, its figures, and those for machines.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/render/render.h"
#include "collector/built_in.h"
#include "collector/http_private.h"
#include "collector/merge_stack.h"

#define DAYS_MAX 400
#define MERGED_REPORTS 50
#define TEXT_COLUMNS 100

static enum MHD_Result answer_file(struct MHD_Connection *c, const char *name) {
    const struct built_in *file = built_in_find(name);
    if (file == NULL || strcmp(name, "report.schema.json") == 0) {
        return http_refuse(c, MHD_HTTP_NOT_FOUND, 0, "there is nothing here");
    }
    return http_answer(c, MHD_HTTP_OK, file->type, file->data, file->bytes);
}

static enum MHD_Result answer_health(struct http *h, struct MHD_Connection *c) {
    bool well = writer_is_well(h->writer);
    return http_answer_json(c, well ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE,
                            json_pack("{s:s}", "status", well ? "ok" : "the last reports were not stored"));
}

static enum MHD_Result answer_metrics(struct http *h, struct MHD_Connection *c) {
    const struct {
        const char *name, *help;
        unsigned long long value;
    } metrics[] = {
        {"requests_total", "Requests of any kind.", atomic_load(&h->requests)},
        {"reports_stored_total", "Reports that were stored.", atomic_load(&h->stored)},
        {"reports_repeated_total", "Reports that the store had already.", atomic_load(&h->repeated)},
        {"reports_refused_total", "Reports that are none.", atomic_load(&h->refused)},
        {"items_ignored_total", "Items of Sentry's clients that are no report.", atomic_load(&h->ignored)},
        {"requests_denied_total", "Requests without a valid key.", atomic_load(&h->denied)},
        {"requests_limited_total", "Requests over the rate of their key.", atomic_load(&h->limited)},
        {"requests_full_total", "Requests for which the store had no space.", atomic_load(&h->full)},
    };
    char text[4096];
    size_t n = 0;
    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++) {
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "# HELP hangdog_collector_%s %s\n# TYPE hangdog_collector_%s counter\n"
                              "hangdog_collector_%s %llu\n",
                              metrics[i].name, metrics[i].help, metrics[i].name, metrics[i].name,
                              metrics[i].value);
    }
    return http_answer(c, MHD_HTTP_OK, "text/plain; version=0.0.4", text, n);
}

static enum MHD_Result answer_found(struct MHD_Connection *c, json_t *json) {
    return json != NULL ? http_answer_json(c, MHD_HTTP_OK, json)
                        : http_refuse(c, MHD_HTTP_NOT_FOUND, 0, "it is not in the store");
}

static enum MHD_Result answer_overview(struct http *h, struct MHD_Connection *c) {
    const char *app = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "app");
    const char *days = MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "days");
    long count = days != NULL ? strtol(days, NULL, 10) : 30;
    if (count < 1 || count > DAYS_MAX) {
        return http_refuse(c, MHD_HTTP_BAD_REQUEST, 0, "days: want 1 to 400");
    }
    return answer_found(c, store_overview(h->store, app != NULL ? app : "", (int)count));
}

static enum MHD_Result answer_stack(struct http *h, struct MHD_Connection *c, const char *fingerprint) {
    struct merge_stack *merge = merge_stack_new();
    if (merge == NULL) {
        return MHD_NO;
    }
    store_each_report(h->store, fingerprint, MERGED_REPORTS, merge_stack_add, merge);
    return http_answer_json(c, MHD_HTTP_OK, merge_stack_end(merge));
}

/* As `hangdog show` prints it. */
static enum MHD_Result answer_text(struct MHD_Connection *c, const char *report, size_t bytes) {
    static pthread_mutex_t rendering = PTHREAD_MUTEX_INITIALIZER; /* the command renders in one thread */
    char *text = NULL;
    size_t text_bytes = 0;
    json_t *json = json_loadb(report, bytes, 0, NULL);
    FILE *out = json != NULL ? open_memstream(&text, &text_bytes) : NULL;
    const struct render_options options = {
        .width = TEXT_COLUMNS, .threads = true, .dated = true, .not_kept = true};
    pthread_mutex_lock(&rendering);
    bool whole = out != NULL && render_report(out, json, &options) == 0;
    pthread_mutex_unlock(&rendering);
    whole = out != NULL && fclose(out) == 0 && whole;
    enum MHD_Result result =
        whole ? http_answer(c, MHD_HTTP_OK, "text/plain; charset=utf-8", text, text_bytes)
              : http_refuse(c, MHD_HTTP_INTERNAL_SERVER_ERROR, 0, "the report has no text");
    free(text);
    json_decref(json);
    return result;
}

static enum MHD_Result answer_report(struct http *h, struct MHD_Connection *c, const char *id, bool as_text) {
    size_t bytes = 0;
    char *report = store_report(h->store, id, &bytes);
    if (report == NULL) {
        return answer_found(c, NULL);
    }
    enum MHD_Result result = as_text ? answer_text(c, report, bytes)
                                     : http_answer(c, MHD_HTTP_OK, "application/json", report, bytes);
    free(report);
    return result;
}

/* "KIND/NAME" or "KIND/NAME/PART" after the API's start. */
static enum MHD_Result answer_api(struct http *h, struct MHD_Connection *c, const char *path) {
    char kind[16] = "", name[64] = "", part[16] = "";
    int found = sscanf(path, "%15[a-z]/%63[0-9a-f-]/%15[a-z]", kind, name, part);
    if (found == 1 && strcmp(path, "overview") == 0) {
        return answer_overview(h, c);
    }
    if (strcmp(kind, "groups") == 0 && found == 2) {
        return answer_found(c, store_group(h->store, name));
    }
    if (strcmp(kind, "groups") == 0 && strcmp(part, "stack") == 0) {
        return answer_stack(h, c, name);
    }
    if (strcmp(kind, "reports") == 0 && (found == 2 || strcmp(part, "text") == 0)) {
        return answer_report(h, c, name, found == 3);
    }
    return answer_found(c, NULL);
}

enum MHD_Result http_read(struct http *h, struct MHD_Connection *c, const char *url) {
    static const char api[] = "/api/v1/";
    if (strcmp(url, "/healthz") == 0) {
        return answer_health(h, c);
    }
    if (strcmp(url, "/metrics") == 0) {
        return answer_metrics(h, c);
    }
    if (strncmp(url, api, sizeof api - 1) != 0) {
        return answer_file(c, strcmp(url, "/") == 0 ? "index.html" : url + 1);
    }
    if (keys_check(h->keys, KEY_READ, MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Authorization")) < 0) {
        atomic_fetch_add(&h->denied, 1);
        return http_refuse(c, MHD_HTTP_UNAUTHORIZED, 0, "a key for reading is needed");
    }
    return answer_api(h, c, url + sizeof api - 1);
}
