/* SPDX-License-Identifier: MIT
 *
 * Reports, by CPU time and memory faults: taken in, grouped, rendered, exported, merged.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/export/formats.h"
#include "cli/reader/frame_origin.h"
#include "cli/render/render.h"
#include "collector/base/built_in.h"
#include "collector/http/merge_stack.h"
#include "collector/report/row.h"
#include "collector/report/schema_rule.h"
#include "fuzz_cost.h"
#include "fuzz_json.h"

#define VALUES_MAX 200000
#define MERGED 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
size_t LLVMFuzzerMutate(uint8_t *data, size_t bytes, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t max, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_bytes, const uint8_t *b, size_t b_bytes,
                                 uint8_t *out, size_t max, unsigned seed);

static json_t *schema;
static FILE *nowhere;

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t max, unsigned seed) {
    return seed % 8 == 0 ? LLVMFuzzerMutate(data, bytes, max) : fuzz_json_change(data, bytes, max, seed);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t a_bytes, const uint8_t *b, size_t b_bytes,
                                 uint8_t *out, size_t max, unsigned seed) {
    return fuzz_json_cross(a, a_bytes, b, b_bytes, out, max, seed);
}

static void merge(const char *text) {
    struct merge_stack *m = merge_stack_new(schema_rule_of(schema));
    for (int i = 0; i < MERGED; i++) {
        merge_stack_add(m, text, strlen(text));
    }
    json_decref(merge_stack_end(merge_stack_invert(m)));
}

/* As the collector does it, for a report that it has taken. */
static void show(json_t *report, const char *text) {
    const struct render_options options = {
        .width = 100, .threads = true, .dated = true, .not_kept = true, .frames_max = 16384};
    json_t *reports = json_pack("[O]", report);
    rewind(nowhere);
    render_report(nowhere, report, &options);
    fuzz_cost_end(2, "render");
    unsigned step = 3;
    for (const struct export_format *format; (format = export_format_at(step - 3)) != NULL; step++) {
        rewind(nowhere);
        format->write(nowhere, reports);
        fuzz_cost_end(step, format->name);
    }
    merge(text);
    fuzz_cost_end(step, "merge");
    json_decref(reports);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    struct row row;
    struct schema_fault fault;
    if (schema == NULL) {
        schema = built_in_schema();
        nowhere = fopen("/dev/null", "we");
        frame_origin_set_elsewhere();
    }
    json_t *report = fuzz_json_expand(data, bytes, VALUES_MAX, (size_t)8 << 20);
    char *text = report != NULL ? json_dumps(report, JSON_COMPACT) : NULL;
    if (text != NULL) {
        fuzz_cost_start(data, bytes);
        bool fits = row_make(text, strlen(text), schema, &row, &fault);
        fuzz_cost_end(0, "take-in");
        row_free(&row);
        if (json_is_object(report)) { /* the store may have what an older collector took */
            struct grouping group;
            grouping_of(report, &group);
            fuzz_cost_end(1, "group");
        }
        if (fits) {
            show(report, text);
        }
    }
    free(text);
    json_decref(report);
    return 0;
}
