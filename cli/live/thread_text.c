/* SPDX-License-Identifier: MIT */
#include "cli/live/thread_text.h"

#include <string.h>

void thread_text_state(FILE *out, const json_t *thread) {
    const char *state = value_text(thread, "state"), *error = value_text(thread, "error");
    const char *detail = value_text(json_object_get(thread, "cause"), "detail");
    const json_t *cpu = json_object_get(thread, "cpu_percent");
    const json_t *stack = json_object_get(thread, "stack");
    const char *motion = value_text(thread, "motion");
    if (motion != NULL) {
        sanitize_print(out, motion);
        fputs(": ", out);
    }
    bool runs = cpu != NULL || (state != NULL && strcmp(state, "running") == 0);
    if (detail != NULL) {
        sanitize_print(out, detail);
    } else if (runs) {
        bool unseen = cpu != NULL && json_number_value(cpu) < THREAD_TEXT_CPU_LEAST && stack == NULL;
        fputs(unseen ? "can run, and was not seen on a CPU" : "runs", out);
    } else if (state != NULL && strcmp(state, "stopped") == 0) {
        fputs("is stopped", out);
    } else if (state != NULL && strcmp(state, "gone") == 0) {
        fputs("has ended", out);
    } else if (error != NULL) {
        fputs("no stack: ", out);
        sanitize_print(out, error);
    } else {
        sanitize_print(out, state);
    }
}

void thread_text_stack(FILE *out, const json_t *report, const json_t *stack, const struct render_options *o,
                       size_t *hidden) {
    const struct page page = {.out = out, .report = report, .options = o, .style = render_style(o->colour)};
    size_t count = 0;
    if (stack == NULL) {
        return;
    }
    if (o->all_frames) {
        render_stack(&page, stack, false);
    } else {
        render_own_frames(&page, json_object_get(stack, "frames"), &count);
        render_stop(&page, stack);
    }
    *hidden += count;
}
