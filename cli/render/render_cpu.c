/* SPDX-License-Identifier: MIT
 *
 * A `cpu` report in a person's words: how much of the thread's time has a stack, and what shows the rest.
 */
#include "cli/base/shell_quote.h"
#include "cli/reader/coverage.h"
#include "cli/render/render_parts.h"

#include <inttypes.h>
#include <stdio.h>

bool render_is_cpu(const json_t *report) {
    return render_is_kind(report, "cpu");
}

static bool is_watched(const json_t *report) {
    int64_t tid = value_int(json_object_get(report, "cpu"), "tid");
    return json_is_true(json_object_get(render_thread(report, tid), "watched"));
}

void render_cpu_unsampled(const struct page *p) {
    const json_t *hot = json_object_get(p->report, "hot_stack");
    bool none = json_array_size(json_object_get(hot, "frames")) == 0;
    double known = none ? 0 : report_coverage(p->report).known;
    char text[300];
    if (known >= STACK_TIME_ALL) {
        return;
    }
    snprintf(text, sizeof text, "%.0f%% of the CPU time has no stack: %s", 100 * (1 - known),
             is_watched(p->report) ? "the thread ran and did not answer"
                                   : "the thread is not watched, so it gets no signal while it runs");
    render_wrapped(p, "", "  note ", RENDER_LABEL, text);
    snprintf(text, sizeof text, "its stack now: %s dump --running %" PRId64, shell_own_command(),
             value_int(json_object_get(p->report, "app"), "pid"));
    render_wrapped(p, "", "  try  ", RENDER_LABEL, text);
}
