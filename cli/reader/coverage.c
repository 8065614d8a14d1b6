/* SPDX-License-Identifier: MIT
 *
 * For how much of a hang's time there is a stack. Ordinary code. Reports come from anywhere: what is missing
 * or of another type reads as NULL, 0 or empty.
 */
#include "cli/reader/coverage.h"

#include <string.h>

static json_int_t int_of(const json_t *object, const char *name) {
    return json_integer_value(json_object_get(object, name));
}

/* All stacks' time, as a multiple of the hot stack's: that begins with the outermost function that has most.
 * 0: there is no tree. */
static double ratio_to_hot(const json_t *samples) {
    const json_t *nodes = json_object_get(json_object_get(samples, "tree"), "nodes"), *node;
    double sum = 0, most = 0;
    size_t i;
    json_array_foreach(nodes, i, node) {
        double ns = (double)int_of(node, "time_ns");
        if (int_of(node, "parent") >= 0) {
            continue;
        }
        sum += ns;
        most = ns > most ? ns : most;
    }
    return most > 0 ? sum / most : 0;
}

/* Of the samples that have no stack most of the time is of a thread that ran. */
static bool gave_no_answer(const json_t *samples) {
    const json_t *timeline = json_object_get(samples, "timeline"), *entry;
    double ran_ns = 0, other_ns = 0;
    size_t i;
    json_array_foreach(timeline, i, entry) {
        const char *state = json_string_value(json_object_get(entry, "state"));
        if (json_object_get(entry, "stack") == NULL) {
            *(state != NULL && strcmp(state, "running") == 0 ? &ran_ns : &other_ns) +=
                (double)int_of(entry, "for_ns");
        }
    }
    return ran_ns > other_ns;
}

struct stack_time report_coverage(const json_t *report) {
    const json_t *frames = json_object_get(json_object_get(report, "hot_stack"), "frames"),
                 *samples = json_object_get(report, "samples"),
                 *outermost = json_array_get(frames, json_array_size(frames) - 1);
    double share = json_number_value(json_object_get(outermost, "share")), ratio = ratio_to_hot(samples);
    struct stack_time t = {.known = share * (ratio > 0 ? ratio : 1), .is_exact = ratio > 0};
    if (!(t.known > 0 && t.known < 1)) { /* without shares nothing is known to be missing */
        t.known = 1;
    }
    t.no_answer = t.is_exact && gave_no_answer(samples);
    return t;
}
