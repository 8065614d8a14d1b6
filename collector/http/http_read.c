/* SPDX-License-Identifier: MIT
 *
 * GET: the page's files, its figures, and those for machines.
 */
#include <stdio.h>
#include <string.h>

#include "collector/base/build_date.h"
#include "collector/base/built_in.h"
#include "collector/http/http_private.h"

static enum MHD_Result answer_file(struct MHD_Connection *c, const char *name) {
    const struct built_in *file = built_in_find(name);
    if (file == NULL || strcmp(name, "report.schema.json") == 0) {
        return http_refuse(c, MHD_HTTP_NOT_FOUND, 0, "there is nothing here");
    }
    return http_answer_built_in(c, file->type, file->data, file->bytes);
}

static enum MHD_Result answer_health(struct http *h, struct MHD_Connection *c) {
    const char *why = build_date_is_to_come()      ? "the clock is before the day of this build"
                      : !writer_is_well(h->writer) ? "the last reports were not stored"
                                                   : NULL;
    return http_answer_json(c, why == NULL ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE,
                            json_pack("{s:s}", "status", why == NULL ? "ok" : why));
}

/* One report in another form, and the stacks of many as one. */
bool http_read_takes_long(const char *url) {
    static const char reports[] = "/api/v1/reports/", groups[] = "/api/v1/groups/";
    const char *end = strrchr(url, '/');
    if (strncmp(url, reports, sizeof reports - 1) == 0) {
        return strchr(url + sizeof reports - 1, '/') != NULL;
    }
    return strcmp(url, "/api/v1/compare") == 0 ||
           (strncmp(url, groups, sizeof groups - 1) == 0 && strcmp(end, "/stack") == 0);
}

enum MHD_Result http_read(struct http *h, struct MHD_Connection *c, const char *url) {
    static const char api[] = "/api/v1/", symbols[] = "/api/v1/symbols/";
    if (strcmp(url, "/healthz") == 0) {
        return answer_health(h, c);
    }
    if (strcmp(url, "/metrics") == 0) {
        return http_metrics(h, c);
    }
    if (strncmp(url, api, sizeof api - 1) != 0) {
        return answer_file(c, strcmp(url, "/") == 0 ? "index.html" : url + 1);
    }
    int key = keys_check(h->keys, KEY_READ, MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Authorization"));
    enum MHD_Result result = MHD_NO;
    if (key < 0) {
        atomic_fetch_add(&h->denied, 1);
        return http_refuse(c, MHD_HTTP_UNAUTHORIZED, 0, "a key for reading is needed");
    }
    if (http_admin_read(h, c, url + sizeof api - 1, key, &result)) {
        return result;
    }
    if (strncmp(url, symbols, sizeof symbols - 1) == 0) {
        return http_symbols_state(h, c, url + sizeof symbols - 1);
    }
    return http_page(h, c, url + sizeof api - 1);
}
