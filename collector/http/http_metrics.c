/* SPDX-License-Identifier: MIT
 *
 * GET /metrics, for Prometheus: the collector's own counters, which need no key. Hangs by app and version
 * need a key for reading, since they show what users run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/json_text.h"
#include "cli/export/prometheus.h"
#include "collector/http/http_private.h"

static void put_own(FILE *out, struct http *h) {
    const struct {
        const char *name, *help;
        unsigned long long value;
    } metrics[] = {
        {"reports_named_total", "Reports that got names from debug files.",
         symbols_counted(h->symbols).named},
        {"reports_unnamed_total", "Reports for which debug files had no name.",
         symbols_counted(h->symbols).unnamed},
        {"symbols_set_aside_total", "Debug files that are not what they were sent as.",
         symbols_counted(h->symbols).set_aside},
        {"symbols_failed_total", "Workers for debug files that ended without a result.",
         symbols_counted(h->symbols).failed},
        {"requests_total", "Requests of any kind.", atomic_load(&h->requests)},
        {"reports_stored_total", "Reports that were stored.", atomic_load(&h->stored)},
        {"reports_repeated_total", "Reports that the store had already.", atomic_load(&h->repeated)},
        {"reports_refused_total", "Reports that are none.", atomic_load(&h->refused)},
        {"items_ignored_total", "Items of Sentry's clients that are no report.", atomic_load(&h->ignored)},
        {"requests_denied_total", "Requests without a valid key.", atomic_load(&h->denied)},
        {"requests_limited_total", "Requests over the rate of their key.", atomic_load(&h->limited)},
        {"requests_full_total", "Requests for which the store had no space.", atomic_load(&h->full)},
    };
    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++) {
        fprintf(out,
                "# HELP hangdog_collector_%s %s\n# TYPE hangdog_collector_%s counter\n"
                "hangdog_collector_%s %llu\n",
                metrics[i].name, metrics[i].help, metrics[i].name, metrics[i].name, metrics[i].value);
    }
}

/* A label and the member of a row that has its value. */
struct label {
    const char *name, *member;
};

/* Two labels at most. */
static void put_rows(FILE *out, const json_t *rows, const char *name, const char *help,
                     const struct label label[2], const char *member, double per_unit) {
    const json_t *one;
    size_t i;
    fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name,
            strcmp(member, "names") == 0 ? "gauge" : "counter");
    json_array_foreach(rows, i, one) {
        fprintf(out, "%s{", name);
        export_put_label(out, "", label[0].name, json_text(one, label[0].member));
        if (label[1].name != NULL) {
            export_put_label(out, ",", label[1].name, json_text(one, label[1].member));
        }
        fprintf(out, "} %.15g\n", (double)json_integer_value(json_object_get(one, member)) / per_unit);
    }
}

/* Of the 200 newest versions; one that the retention has removed is gone. False: the store failed. */
static bool put_hangs(FILE *out, struct http *h) {
    static const struct label labels[2] = {{"app", "app"}, {"version", "version"}};
    json_t *all = store_versions(h->store, "");
    const json_t *versions = json_object_get(all, "versions");
    put_rows(out, versions, "hangdog_hangs_total", "Hangs of an app's version.", labels, "count", 1);
    put_rows(out, versions, "hangdog_hang_seconds_total", "Their time.", labels, "total_ms", 1000);
    bool well = versions != NULL;
    json_decref(all);
    return well;
}

/* Of the 200 hosts, and of the 200 units, with the most time in hangs. False: the store failed. */
static bool put_origins(FILE *out, struct http *h, enum row_origin origin) {
    const char *part = row_origin_names[origin];
    const struct label of_app[2] = {{"app", "app"}}, of_part[2] = {{part, "name"}};
    const struct {
        enum row_origin origin;
        const char *name, *help, *rows, *member;
        const struct label *labels;
        double per_unit;
    } all[] = {
        {ORIGIN_HOST, "hangdog_hosts", "Hosts of an app in the last 30 days.", "by_app", "names", of_app, 1},
        {ORIGIN_HOST, "hangdog_host_hangs_total", "Hangs on a host.", "rows", "count", of_part, 1},
        {ORIGIN_HOST, "hangdog_host_hang_seconds_total", "Their time.", "rows", "total_ms", of_part, 1000},
        {ORIGIN_HOST, "hangdog_host_used_seconds_total", "Watched time.", "rows", "used_ms", of_part, 1000},
        {ORIGIN_UNIT, "hangdog_units", "Units of an app in the last 30 days.", "by_app", "names", of_app, 1},
        {ORIGIN_UNIT, "hangdog_unit_hangs_total", "Hangs in a systemd unit.", "rows", "count", of_part, 1},
        {ORIGIN_UNIT, "hangdog_unit_hang_seconds_total", "Their time.", "rows", "total_ms", of_part, 1000},
        {ORIGIN_UNIT, "hangdog_unit_used_seconds_total", "Watched time.", "rows", "used_ms", of_part, 1000}};
    json_t *sums = store_origins(h->store, &(struct store_origin_filter){.part = part, .app = ""});
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (all[i].origin == origin) {
            put_rows(out, json_object_get(sums, all[i].rows), all[i].name, all[i].help, all[i].labels,
                     all[i].member, all[i].per_unit);
        }
    }
    bool well = sums != NULL;
    json_decref(sums);
    return well;
}

enum MHD_Result http_metrics(struct http *h, struct MHD_Connection *c) {
    const char *key = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Authorization");
    char *text = NULL;
    size_t bytes = 0;
    if (key != NULL && keys_check(h->keys, KEY_READ, key) < 0) {
        atomic_fetch_add(&h->denied, 1);
        return http_refuse(c, MHD_HTTP_UNAUTHORIZED, 0, "a key for reading is needed, or none");
    }
    FILE *out = open_memstream(&text, &bytes);
    if (out == NULL) {
        return MHD_NO;
    }
    put_own(out, h);
    bool well = key == NULL ||
                (put_hangs(out, h) && put_origins(out, h, ORIGIN_HOST) && put_origins(out, h, ORIGIN_UNIT));
    fclose(out);
    if (!well) {
        free(text);
        return http_answer_json(c, MHD_HTTP_OK, NULL);
    }
    return http_answer_text(c, "text/plain; version=0.0.4", "", text, bytes);
}
