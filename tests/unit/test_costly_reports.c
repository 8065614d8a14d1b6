/* SPDX-License-Identifier: MIT
 *
 * A report that fits the schema costs a bounded time, whatever it has: to take in, to render, to export, to
 * merge. The bounds are some ten times what it takes; the code before them took seconds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/export/formats.h"
#include "cli/reader/frame_origin.h"
#include "cli/render/render.h"
#include "collector/base/built_in.h"
#include "collector/http/merge_stack.h"
#include "collector/receive/envelope.h"
#include "collector/report/row.h"
#include "collector/report/schema_rule.h"
#include "collector/sentry/sentry_report.h"
#include "costly_reports.h"

#define BOUND_MS 1000.0

static double bound(void) {
    const char *sanitizer = getenv("HANGDOG_SANITIZER");
    return sanitizer != NULL && sanitizer[0] != '\0' ? 10 * BOUND_MS : BOUND_MS;
}

static int failures;

static void check(const char *report, const char *action, double ms) {
    if (ms > bound() || getenv("VERBOSE") != NULL) {
        print_message("%-10s %-10s took %.0f ms of CPU time\n", report, action, ms);
    }
    failures += ms > bound();
}

static int start(void **state) {
    (void)state;
    failures = 0;
    return 0;
}

static void end(void) {
    if (failures > 0) {
        fail_msg("%d took more than %.0f ms", failures, bound());
    }
}

static void take_in(void **state) {
    (void)state;
    json_t *schema = built_in_schema();
    for (const struct costly *c = costly_reports; c->name != NULL; c++) {
        json_t *report = c->make();
        char *text = json_dumps(report, JSON_COMPACT);
        struct row row;
        struct schema_fault fault;
        double since = costly_cpu_ms();
        row_make(text, strlen(text), schema, &row, &fault); /* some are refused today */
        check(c->name, "take in", costly_cpu_ms() - since);
        struct grouping group;
        since = costly_cpu_ms();
        grouping_of(report, &group); /* as of one that was stored before */
        check(c->name, "group", costly_cpu_ms() - since);
        row_free(&row);
        free(text);
        json_decref(report);
    }
    json_decref(schema);
    end();
}

static void render(void **state) {
    (void)state;
    const struct render_options options = {
        .width = 100, .threads = true, .dated = true, .not_kept = true, .frames_max = 16384};
    for (const struct costly *c = costly_reports; c->name != NULL; c++) {
        json_t *report = c->make();
        FILE *out = fopen("/dev/null", "we");
        double since = costly_cpu_ms();
        assert_int_equal(render_report(out, report, &options), 0);
        check(c->name, "text", costly_cpu_ms() - since);
        fclose(out);
        json_decref(report);
    }
    end();
}

static void export(void **state) {
    (void)state;
    static const char *const formats[] = {"text", "collapsed", "firefox", "pprof"};
    static const char *const names[] = {"threads", "crowd", "deep", "timeline", "texts"};
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        json_t *reports = json_pack("[o]", costly_report(names[k]));
        for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
            FILE *out = fopen("/dev/null", "we");
            double since = costly_cpu_ms();
            assert_int_equal(export_format_of(formats[i])->write(out, reports), 0);
            check(names[k], formats[i], costly_cpu_ms() - since);
            fclose(out);
        }
        json_decref(reports);
    }
    end();
}

static void merge(void **state) {
    (void)state;
    json_t *schema = built_in_schema();
    static const char *const names[] = {"threads", "wide", "deep"};
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        json_t *report = costly_report(names[k]);
        char *text = json_dumps(report, JSON_COMPACT);
        struct merge_stack *m = merge_stack_new(schema_rule_of(schema));
        double since = costly_cpu_ms();
        for (int i = 0; i < 50; i++) {
            merge_stack_add(m, text, strlen(text));
        }
        json_decref(merge_stack_end(merge_stack_invert(m)));
        check(names[k], "merge", costly_cpu_ms() - since);
        free(text);
        json_decref(report);
    }
    json_decref(schema);
    end();
}

/* As many bytes and values as may come; not what a report has, but its text. */
static void sizes(void **state) {
    (void)state;
    static const struct {
        const char *name, *start, *item;
        size_t bytes;
    } texts[] = {
        {"large", "\"hot_stack\":{\"frames\":[{\"pc\":\"0x1\"}",
         ",{\"pc\":\"0x1\",\"function\":\"%.16000d\"}", 8 << 20},
        {"stacks", "\"samples\":{\"stacks\":[{\"frames\":[{\"pc\":\"0x1\"}]}",
         ",{\"frames\":[{\"pc\":\"0x1\",\"line\":%d},{\"pc\":\"0x1\"},{\"pc\":\"0x1\"}]}", 8 << 20},
        {"values", "\"hot_stack\":{\"frames\":[{\"pc\":\"0x1\"}",
         ",{\"pc\":\"0x1\",\"line\":%d,\"module\":0,\"offset\":\"0x1\",\"start\":\"0x1\",\"inlined\":true}",
         8 << 20},
        {"names", "\"hot_stack\":{\"frames\":[{\"pc\":\"0x1\"}",
         ",{\"pc\":\"0x1\",\"function\":\"%08d<<<<<<<<operator<<(((({lambda{lambda[clone .cold\"}", 8 << 20},
        {"unknown", "\"hot_stack\":{\"more\":[1", ",%d,[],{},[[]]", 2 << 20},
        {"lists", "\"more\":[1", ",{\"%d\":[[{}]]}", 2 << 20},
    };
    json_t *schema = built_in_schema();
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char *text = malloc(texts[i].bytes + 32768);
        json_t *report =
            json_pack("{s:s, s:s, s:s, s:s, s:i, s:b, s:{s:s, s:i}, s:{s:s, s:s}, s:{}}", "format",
                      "hangdog-report/1", "id", "01990000-0000-7000-8000-000000000001", "kind", "hang",
                      "started_at", "2026-01-31T12:00:00Z", "duration_ns", 1, "complete", 1, "app", "name",
                      "a", "pid", 1, "host", "os", "linux", "arch", "x86_64", "process");
        char *start_of = json_dumps(report, JSON_COMPACT);
        size_t n = (size_t)sprintf(text, "%.*s,%s", (int)strlen(start_of) - 1, start_of, texts[i].start);
        int items = 1;
        for (; n < texts[i].bytes - 20000 && items < 20000; items++) {
            n += (size_t)sprintf(text + n, texts[i].item, items);
        }
        n += (size_t)sprintf(text + n, "]}%s", texts[i].start[1] == 'm' ? "" : "}");
        struct row row;
        struct schema_fault fault;
        double since = costly_cpu_ms();
        bool fits = row_make(text, n, schema, &row, &fault);
        check(texts[i].name, fits ? "take in" : "refuse", costly_cpu_ms() - since);
        if (getenv("VERBOSE") != NULL && !fits) {
            print_message("%s %s, %zu bytes, %d items\n", fault.at, fault.reason, n, items);
        }
        row_free(&row);
        free(start_of);
        free(text);
        json_decref(report);
    }
    json_decref(schema);
    end();
}

/* Of Sentry's clients: 64 threads of 256 frames each, and images whose addresses take long to read. */
static json_t *event_of(const char *address) {
    json_t *images = json_array(), *threads = json_array(), *frames = json_array();
    json_array_append_new(images, json_pack("{s:s, s:i}", "image_addr", address, "image_size", 4096));
    for (int i = 1; i < 1000; i++) {
        json_array_append_new(images, json_pack("{s:i, s:i}", "image_addr", 8192 * i, "image_size", 4096));
    }
    for (int i = 0; i < 256; i++) {
        json_array_append_new(frames, json_pack("{s:i}", "instruction_addr", 1));
    }
    for (int i = 0; i < 64; i++) {
        json_array_append_new(threads, json_pack("{s:i, s:{s:O}}", "id", i, "stacktrace", "frames", frames));
    }
    json_decref(frames);
    return json_pack("{s:s, s:{s:[{s:s, s:s}]}, s:{s:o}, s:{s:o}}", "event_id",
                     "580ba058a23e42c6bffdd22c245fafd9", "exception", "values", "type", "ANR", "value",
                     "hung", "debug_meta", "images", images, "threads", "values", threads);
}

static void sentry(void **state) {
    (void)state;
    json_t *schema = built_in_schema(), *events = sentry_report_schema(schema);
    char *blanks = calloc(1, 590001);
    memset(blanks, ' ', 590000);
    json_t *event = event_of(blanks);
    char *text = json_dumps(event, JSON_COMPACT);
    struct envelope envelope;
    const char *why = "";
    double since = costly_cpu_ms();
    assert_int_equal(envelope_read(NULL, text, strlen(text), true, "1", events, &envelope, &why), 0);
    check("blanks", "envelope", costly_cpu_ms() - since);
    assert_int_equal(envelope.in.count, 1);
    ingest_free(&envelope.in);
    free(text);
    free(blanks);
    json_decref(event);
    json_decref(events);
    json_decref(schema);
    end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(take_in, start), cmocka_unit_test_setup(sizes, start),
        cmocka_unit_test_setup(render, start),  cmocka_unit_test_setup(export, start),
        cmocka_unit_test_setup(merge, start),   cmocka_unit_test_setup(sentry, start),
    };
    frame_origin_set_elsewhere(); /* as the collector does */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
