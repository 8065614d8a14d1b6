/* SPDX-License-Identifier: MIT
 *
 * GET below /api/v1/: what the pages show. docs/collector-api.md has each address.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/http/http_params.h"
#include "collector/http/http_private.h"
#include "collector/http/merge_stack.h"
#include "collector/report/kind.h"
#include "collector/report/schema_rule.h"
#include "collector/store/store.h"

/* A host, unit, container or image: a list of groups has sums of one. */
static void take_origin(struct http_params *p, struct store_group_filter *filter) {
    for (int i = 0; i < ORIGINS; i++) {
        const char *name = http_param_text(p, row_origin_names[i]);
        if (name[0] == '\0') {
            continue;
        }
        if ((filter->name != NULL || filter->version[0] != '\0') && p->why[0] == '\0') {
            snprintf(p->why, sizeof p->why, "%s: give one of version, host, unit, container and image",
                     row_origin_names[i]);
        }
        filter->part = row_origin_names[i];
        filter->name = name;
    }
}

/* The parameters of a list of groups: app, version, host, unit, container, image, state, seen, kind, sort,
 * offset. Sets `p->why` for a wrong one. Texts are valid for the request's life.
 */
static void http_group_params(struct http_params *p, struct store_group_filter *filter) {
    static const char *const states[] = {"open", "resolved", "ignored", NULL};
    static const char *const sights[] = {"new", "regressed", NULL};
    static const char *const kinds[] = {"hang", "other", NULL};
    static const char *const orders[] = {
        [STORE_BY_TIME] = "time", [STORE_BY_COUNT] = "hangs", [STORE_BY_USERS] = "users",
        [STORE_BY_LAST] = "last", [STORE_BY_FIRST] = "first", NULL};
    const int state = http_param_word(p, "state", -1, states), seen = http_param_word(p, "seen", -1, sights);
    filter->app = http_param_text(p, "app");
    filter->version = http_param_text(p, "version");
    if (filter->version[0] != '\0' && filter->app[0] == '\0' && p->why[0] == '\0') {
        snprintf(p->why, sizeof p->why, "app: name the app of the version");
    }
    take_origin(p, filter);
    filter->state = state < 0 ? "" : states[state];
    filter->only_new = seen == 0;
    filter->only_regressed = seen == 1;
    filter->kinds = (enum store_group_kinds)(STORE_HANGS + http_param_word(p, "kind", -1, kinds));
    filter->order = (enum store_order)http_param_word(p, "sort", STORE_BY_TIME, orders);
    filter->offset = http_param_number(p, "offset", 0, 0, PARAMS_OFFSET_MAX);
}

#define DAYS_USUAL 30
#define DAYS_MAX 400
#define MERGED_REPORTS 50
/* Of each version that is compared: its groups with the most time, and reports of each. */
#define COMPARED_GROUPS 25
#define COMPARED_REPORTS 2
#define SEGMENTS_MAX 4
#define SEGMENT_BYTES 64
#define FINGERPRINT_CHARS 16

struct page {
    struct http *http;
    struct http_params params;
    char segment[SEGMENTS_MAX][SEGMENT_BYTES]; /* of the path: "groups", "c0ff..." */
    int segments;
};

static enum MHD_Result refuse(const struct page *p, unsigned status, const char *why) {
    return http_refuse(p->params.connection, status, 0, why);
}

/* Frees the JSON. NULL: it is not there. */
static enum MHD_Result answer(const struct page *p, json_t *json) {
    return json != NULL ? http_answer_json(p->params.connection, MHD_HTTP_OK, json)
                        : refuse(p, MHD_HTTP_NOT_FOUND, "it is not in the store");
}

static const char *text(struct page *p, const char *name) {
    return http_param_text(&p->params, name);
}

static int days(struct page *p) {
    return (int)http_param_number(&p->params, "days", DAYS_USUAL, 1, DAYS_MAX);
}

static long offset(struct page *p) {
    return http_param_number(&p->params, "offset", 0, 0, PARAMS_OFFSET_MAX);
}

static bool is_wrong(const struct page *p) {
    return p->params.why[0] != '\0';
}

static enum MHD_Result refuse_params(const struct page *p) {
    return refuse(p, MHD_HTTP_BAD_REQUEST, p->params.why);
}

static enum MHD_Result answer_groups(struct page *p,
                                     json_t *(*query)(struct store *s, const struct store_group_filter *f)) {
    struct store_group_filter filter = {.days = days(p)};
    http_group_params(&p->params, &filter);
    return is_wrong(p) ? refuse_params(p) : answer(p, query(p->http->store, &filter));
}

static enum MHD_Result answer_overview(struct page *p) {
    return answer_groups(p, store_overview);
}

static enum MHD_Result answer_all_groups(struct page *p) {
    return answer_groups(p, store_groups);
}

static enum MHD_Result answer_versions(struct page *p) {
    const char *app = text(p, "app");
    return is_wrong(p) ? refuse_params(p) : answer(p, store_versions(p->http->store, app));
}

static enum MHD_Result answer_origins(struct page *p) {
    static const char *const parts[ORIGINS + 1] = {"host", "unit", "container", "image", NULL};
    const int part = http_param_word(&p->params, "part", ORIGIN_HOST, parts);
    const struct store_origin_filter filter = {
        .part = row_origin_names[part], .app = text(p, "app"), .offset = offset(p)};
    return is_wrong(p) ? refuse_params(p) : answer(p, store_origins(p->http->store, &filter));
}

static enum MHD_Result answer_kinds(struct page *p) {
    const char *app = text(p, "app");
    int since = days(p);
    return is_wrong(p) ? refuse_params(p) : answer(p, store_kinds(p->http->store, app, since));
}

static enum MHD_Result answer_search(struct page *p) {
    const char *words = text(p, "q"), *app = text(p, "app");
    long from = offset(p);
    if (!is_wrong(p) && strlen(words) < 2) {
        return refuse(p, MHD_HTTP_BAD_REQUEST, "q: want two characters or more");
    }
    return is_wrong(p) ? refuse_params(p) : answer(p, store_search(p->http->store, words, app, from));
}

static enum MHD_Result refuse_kind(const struct page *p) {
    char kinds[160], why[320];
    kind_write_listed(kinds, sizeof kinds);
    snprintf(why, sizeof why,
             "kind: want %s; hangs are listed by group, and sessions are counted in GET kinds", kinds);
    return refuse(p, MHD_HTTP_BAD_REQUEST, why);
}

static enum MHD_Result answer_kind(struct page *p) {
    const struct store_filter filter = {.kind = text(p, "kind"),
                                        .app = text(p, "app"),
                                        .days = (int)http_param_number(&p->params, "days", 0, 1, DAYS_MAX),
                                        .offset = offset(p),
                                        .limit = STORE_ROWS_MAX};
    if (is_wrong(p)) {
        return refuse_params(p);
    }
    return kind_is_listed(filter.kind) ? answer(p, store_reports(p->http->store, &filter)) : refuse_kind(p);
}

static enum MHD_Result answer_group_reports(struct page *p) {
    struct store_filter filter = {.fingerprint = p->segment[1],
                                  .version = text(p, "version"),
                                  .offset = offset(p),
                                  .limit = STORE_ROWS_MAX};
    for (int i = 0; i < ORIGINS; i++) {
        filter.origin[i] = text(p, row_origin_names[i]);
    }
    return is_wrong(p) ? refuse_params(p) : answer(p, store_reports(p->http->store, &filter));
}

static enum MHD_Result answer_stack(struct page *p) {
    const struct store_filter filter = {
        .fingerprint = p->segment[1], .version = text(p, "version"), .limit = MERGED_REPORTS};
    bool inverted = http_param_number(&p->params, "inverted", 0, 0, 1) == 1;
    if (is_wrong(p)) {
        return refuse_params(p);
    }
    struct merge_stack *merge = merge_stack_new(schema_rule_of(p->http->schema));
    if (merge == NULL) {
        return MHD_NO;
    }
    store_each_report(p->http->store, &filter, merge_stack_add, merge);
    if (inverted && (merge = merge_stack_invert(merge)) == NULL) {
        return MHD_NO;
    }
    return answer(p, merge_stack_end(merge));
}

/* Reports of one group, until it is known how many there are. */
struct texts {
    char *text[COMPARED_REPORTS];
    size_t bytes[COMPARED_REPORTS];
    int count;
};

static void take_text(void *to, size_t group, const char *report, size_t bytes) {
    struct texts *t = (struct texts *)to + group;
    char *copy = t->count < COMPARED_REPORTS ? malloc(bytes) : NULL;
    if (copy != NULL) {
        memcpy(copy, report, bytes);
        t->text[t->count] = copy;
        t->bytes[t->count++] = bytes;
    }
}

/* The groups with time in a version, the first COMPARED_GROUPS of them: `ms` gets that time. */
static json_t *groups_of_version(const json_t *groups, const char *member, json_int_t ms[COMPARED_GROUPS]) {
    json_t *fingerprints = json_array();
    const json_t *group;
    size_t i, count = 0;
    json_array_foreach(groups, i, group) {
        json_int_t time = json_integer_value(json_object_get(group, member));
        if (time > 0 && count < COMPARED_GROUPS &&
            json_array_append(fingerprints, json_object_get(group, "fingerprint")) == 0) {
            ms[count++] = time;
        }
    }
    return fingerprints;
}

/* The stacks of a version: of each group with much time there, its newest reports with that group's time. */
static json_t *stack_of_version(struct http *h, const json_t *groups, const char *app, const char *version,
                                const char *member) {
    struct merge_stack *merge = merge_stack_new(schema_rule_of(h->schema));
    struct texts all[COMPARED_GROUPS] = {{.count = 0}};
    json_int_t ms[COMPARED_GROUPS] = {0};
    json_t *fingerprints = groups_of_version(groups, member, ms);
    const struct store_groups of = {
        .app = app, .version = version, .fingerprints = fingerprints, .each = COMPARED_REPORTS};
    if (merge != NULL) {
        store_each_of_groups(h->store, &of, take_text, all);
    }
    for (size_t i = 0; i < json_array_size(fingerprints); i++) {
        for (int n = 0; n < all[i].count; n++) {
            merge_stack_add_as(merge, all[i].text[n], all[i].bytes[n], ms[i] / all[i].count);
            free(all[i].text[n]);
        }
    }
    json_decref(fingerprints);
    return merge != NULL ? merge_stack_end(merge) : NULL;
}

static enum MHD_Result answer_compare(struct page *p) {
    const char *app = text(p, "app"), *from = text(p, "from"), *to = text(p, "to");
    if (is_wrong(p)) {
        return refuse_params(p);
    }
    if (app[0] == '\0') {
        return refuse(p, MHD_HTTP_BAD_REQUEST, "app: name the app of both versions");
    }
    json_t *compared = store_compare(p->http->store, app, from, to);
    const json_t *groups = json_object_get(compared, "groups");
    if (compared != NULL) {
        json_object_set_new(compared, "from_stack", stack_of_version(p->http, groups, app, from, "from_ms"));
        json_object_set_new(compared, "to_stack", stack_of_version(p->http, groups, app, to, "to_ms"));
    }
    return answer(p, compared);
}

/* The path's parts. False: it has too many, or one that is too long. */
static bool split_path(struct page *p, const char *path) {
    while (p->segments < SEGMENTS_MAX) {
        size_t bytes = strcspn(path, "/");
        if (bytes == 0 || bytes >= SEGMENT_BYTES) {
            return false;
        }
        memcpy(p->segment[p->segments++], path, bytes);
        if (path[bytes] == '\0') {
            return true;
        }
        path += bytes + 1;
    }
    return false;
}

static bool is_fingerprint(const char *text_) {
    return strlen(text_) == FINGERPRINT_CHARS && strspn(text_, "0123456789abcdef") == FINGERPRINT_CHARS;
}

static enum MHD_Result answer_in_group(struct page *p) {
    if (!is_fingerprint(p->segment[1])) {
        return refuse(p, MHD_HTTP_NOT_FOUND, "a group has a fingerprint of 16 hexadecimal digits");
    }
    if (p->segments == 2) {
        return answer(p, store_group(p->http->store, p->segment[1]));
    }
    if (p->segments == 3 && strcmp(p->segment[2], "stack") == 0) {
        return answer_stack(p);
    }
    if (p->segments == 3 && strcmp(p->segment[2], "reports") == 0) {
        return answer_group_reports(p);
    }
    return answer(p, NULL);
}

static enum MHD_Result answer_in_reports(struct page *p) {
    const char *part = p->segments > 2 ? p->segment[2] : "", *format = p->segments > 3 ? p->segment[3] : "";
    if ((p->segments == 3 && strcmp(part, "text") != 0) ||
        (p->segments == 4 && strcmp(part, "export") != 0)) {
        return answer(p, NULL);
    }
    return http_report(p->http, p->params.connection, p->segment[1], part, format);
}

enum MHD_Result http_page(struct http *h, struct MHD_Connection *c, const char *path) {
    static const struct {
        const char *name;
        enum MHD_Result (*answer)(struct page *p);
    } pages[] = {{"overview", answer_overview}, {"groups", answer_all_groups}, {"versions", answer_versions},
                 {"kinds", answer_kinds},       {"search", answer_search},     {"reports", answer_kind},
                 {"compare", answer_compare},   {"origins", answer_origins}};
    struct page p = {.http = h, .params = {.connection = c}};
    if (!split_path(&p, path)) {
        return answer(&p, NULL);
    }
    for (size_t i = 0; p.segments == 1 && i < sizeof pages / sizeof pages[0]; i++) {
        if (strcmp(pages[i].name, p.segment[0]) == 0) {
            return pages[i].answer(&p);
        }
    }
    if (p.segments > 1 && strcmp(p.segment[0], "groups") == 0) {
        return answer_in_group(&p);
    }
    if (p.segments > 1 && strcmp(p.segment[0], "reports") == 0) {
        return answer_in_reports(&p);
    }
    return answer(&p, NULL);
}
