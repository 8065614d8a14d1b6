/* SPDX-License-Identifier: MIT */
#include "cli/export/prometheus.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/sanitize.h"
#include "cli/export/formats.h"
#include "cli/export/stacks.h"
#include "cli/reader/groups.h"
#include "cli/reader/report_load.h"
#include "cli/reader/report_origin.h"

#define NS_PER_S 1e9
#define BUCKETS 64           /* of the turns' histogram: 2^i ns */
#define LEAST_BUCKET_NS 1000 /* of those that are written */

/* A metric: label texts as keys, numbers as values. */
struct metric {
    const char *name, *help, *type;
    bool count; /* not nanoseconds */
    json_t *value;
};

enum {
    REPORTS,
    SECONDS,
    LONGEST,
    LAST,
    WATCHED,
    BUSY,
    IDLE,
    METRICS
};

void export_put_label(FILE *out, const char *before, const char *name, const char *value) {
    char *plain = strdup(value);
    fprintf(out, "%s%s=\"", before, name);
    if (plain != NULL) {
        sanitize_text(plain); /* no new line, no character that a terminal obeys */
    }
    for (const char *at = plain != NULL ? plain : ""; *at != '\0'; at++) {
        fprintf(out, "%s%c", *at == '"' || *at == '\\' ? "\\" : "", *at);
    }
    fputc('"', out);
    free(plain);
}

static void put_origin(FILE *out, const json_t *report) {
    static const char *const members[] = {"host", "unit", "container"};
    json_t *origin = json_object();
    report_origin_add(origin, report);
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        if (report_text(origin, members[i])[0] != '\0') {
            export_put_label(out, ",", members[i], report_text(origin, members[i]));
        }
    }
    json_decref(origin);
}

/* "app="a",host="h",kind="hang",cause="cpu"" of a report; without `kind` no kind and no cause. The caller
 * frees. */
static char *labels_of(const json_t *report, bool kind) {
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (out == NULL) {
        return NULL;
    }
    export_put_label(out, "", "app", report_text(json_object_get(report, "app"), "name"));
    put_origin(out, report);
    if (kind) {
        export_put_label(out, ",", "kind", report_text(report, "kind"));
        export_put_label(out, ",", "cause", report_text(json_object_get(report, "cause"), "kind"));
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

static void add(struct metric *m, const char *labels, int64_t number) {
    json_int_t before = json_integer_value(json_object_get(m->value, labels));
    json_object_set_new(m->value, labels, json_integer(groups_add_times(before, number)));
}

static void raise_to(struct metric *m, const char *labels, int64_t number) {
    json_int_t before = json_integer_value(json_object_get(m->value, labels));
    json_object_set_new(m->value, labels, json_integer(number > before ? number : before));
}

static void add_session(struct metric *m, json_t *turns, const json_t *report, const char *app) {
    const json_t *session = json_object_get(report, "session"), *bucket;
    json_t *sums = json_object_get(turns, app);
    size_t i;
    add(&m[WATCHED], app, export_number(report, "duration_ns"));
    add(&m[BUSY], app, export_number(session, "busy_ns"));
    add(&m[IDLE], app, export_number(session, "idle_ns"));
    if (sums == NULL) {
        json_object_set_new(turns, app, json_array());
        sums = json_object_get(turns, app);
    }
    json_array_foreach(json_object_get(session, "turn_histogram"), i, bucket) {
        json_int_t count = json_integer_value(bucket);
        if (i < BUCKETS && json_array_size(sums) <= i) {
            json_array_append_new(sums, json_integer(0));
        }
        if (i < BUCKETS && count > 0) {
            json_array_set_new(
                sums, i, json_integer(groups_add_times(json_integer_value(json_array_get(sums, i)), count)));
        }
    }
}

static bool add_report(struct metric *m, json_t *turns, const json_t *report) {
    char *app = labels_of(report, false), *all = labels_of(report, true);
    int64_t ns = export_number(report, "duration_ns");
    bool well = app != NULL && all != NULL;
    if (well && strcmp(report_text(report, "kind"), "session") == 0) {
        add_session(m, turns, report, app);
    } else if (well) {
        add(&m[REPORTS], all, 1);
        add(&m[SECONDS], all, ns);
        raise_to(&m[LONGEST], all, ns);
        raise_to(&m[LAST], app, export_started_ns(report));
    }
    free(app);
    free(all);
    return well;
}

static void put_metric(FILE *out, const struct metric *m) {
    const char *labels;
    json_t *value;
    if (json_object_size(m->value) > 0) {
        fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", m->name, m->help, m->name, m->type);
    }
    json_object_foreach(m->value, labels, value) {
        double number = (double)json_integer_value(value) / (m->count ? 1 : NS_PER_S);
        fprintf(out, "%s{%s} %.15g\n", m->name, labels, number);
    }
}

/* Each bucket has the turns of those before it, too. */
static void put_turns(FILE *out, const json_t *turns, const json_t *busy) {
    static const char name[] = "hangdog_spool_turn_seconds";
    const char *app;
    json_t *sums, *bucket;
    if (json_object_size(turns) > 0) {
        fprintf(out, "# HELP %s Turns of the watched loops, by how long they took.\n# TYPE %s histogram\n",
                name, name);
    }
    json_object_foreach((json_t *)turns, app, sums) {
        json_int_t count = 0;
        double bound = 1;
        size_t i;
        json_array_foreach(sums, i, bucket) {
            bound *= 2;
            count = groups_add_times(count, json_integer_value(bucket));
            if (bound > LEAST_BUCKET_NS) {
                fprintf(out, "%s_bucket{%s,le=\"%.15g\"} %" JSON_INTEGER_FORMAT "\n", name, app,
                        bound / NS_PER_S, count);
            }
        }
        fprintf(out, "%s_bucket{%s,le=\"+Inf\"} %" JSON_INTEGER_FORMAT "\n", name, app, count);
        fprintf(out, "%s_sum{%s} %.15g\n", name, app,
                (double)json_integer_value(json_object_get(busy, app)) / NS_PER_S);
        fprintf(out, "%s_count{%s} %" JSON_INTEGER_FORMAT "\n", name, app, count);
    }
}

int export_prometheus(FILE *out, const json_t *reports) {
    struct metric m[METRICS] = {
        [REPORTS] = {.name = "hangdog_spool_reports",
                     .help = "Reports in the spool.",
                     .type = "gauge",
                     .count = true},
        [SECONDS] = {.name = "hangdog_spool_hang_seconds", .help = "Time of these reports.", .type = "gauge"},
        [LONGEST] = {.name = "hangdog_spool_longest_hang_seconds",
                     .help = "The longest of these reports.",
                     .type = "gauge"},
        [LAST] = {.name = "hangdog_spool_last_hang_timestamp_seconds",
                  .help = "When the last one began.",
                  .type = "gauge"},
        [WATCHED] = {.name = "hangdog_spool_watched_seconds",
                     .help = "Time that the app was watched.",
                     .type = "gauge"},
        [BUSY] = {.name = "hangdog_spool_loop_busy_seconds",
                  .help = "Time of the loops' turns.",
                  .type = "gauge"},
        [IDLE] = {.name = "hangdog_spool_loop_idle_seconds",
                  .help = "Time that the loops waited.",
                  .type = "gauge"},
    };
    json_t *turns = json_object();
    const json_t *report;
    bool well = true;
    size_t i;
    for (i = 0; i < METRICS; i++) {
        m[i].value = json_object();
    }
    json_array_foreach(reports, i, report) {
        well = well && add_report(m, turns, report);
    }
    for (i = 0; i < METRICS; i++) {
        put_metric(out, &m[i]);
    }
    put_turns(out, turns, m[BUSY].value);
    for (i = 0; i < METRICS; i++) {
        json_decref(m[i].value);
    }
    json_decref(turns);
    errno = well ? errno : ENOMEM;
    return well && !ferror(out) ? 0 : -1;
}
