/* SPDX-License-Identifier: MIT
 *
 * The threads of a report: the one that has the lock first, with its frames; the others in a line each.
 */
#include "cli/render/render_parts.h"

#include <inttypes.h>
#include <string.h>

static void put_state(const struct page *p, const json_t *thread) {
    const char *state = value_text(thread, "state"), *syscall = value_text(thread, "syscall");
    bool waits = state != NULL && (strcmp(state, "blocked") == 0 || strcmp(state, "uninterruptible") == 0);
    if (state != NULL) {
        fputs(waits ? "waits" : strcmp(state, "running") == 0 ? "runs" : "", p->out);
        if (!waits && strcmp(state, "running") != 0)
            sanitize_print(p->out, state);
    }
    if (waits && syscall != NULL) {
        fputs(" in ", p->out);
        sanitize_print(p->out, syscall);
    }
}

static void put_summary(const struct page *p, const json_t *thread, bool owner) {
    const json_t *cpu = json_object_get(thread, "cpu_percent");
    int64_t waits_for = value_int(thread, "waits_for_tid");
    fprintf(p->out, "  %" PRId64, value_int(thread, "tid"));
    if (value_text(thread, "name") != NULL) {
        fputs(" \"", p->out);
        sanitize_print(p->out, value_text(thread, "name"));
        fputc('"', p->out);
    }
    if (json_is_true(json_object_get(thread, "watched")))
        fputs(" (watched)", p->out);
    if (owner)
        fputs(", has the mutex", p->out);
    fputs("  ", p->out);
    put_state(p, thread);
    if (cpu != NULL)
        fprintf(p->out, ", %.0f%% CPU", json_number_value(cpu));
    if (waits_for != 0)
        fprintf(p->out, ", waits for thread %" PRId64, waits_for);
    if (json_object_get(thread, "stack") == NULL && value_text(thread, "error") != NULL) {
        fputs(", no stack: ", p->out);
        sanitize_print(p->out, value_text(thread, "error"));
    }
    fputc('\n', p->out);
}

static void put_stack(const struct page *p, const json_t *thread) {
    const json_t *stack = json_object_get(thread, "stack");
    size_t hidden = 0;
    if (stack != NULL && p->options->threads)
        render_stack(p, stack, false);
    else if (stack != NULL)
        render_own_frames(p, json_object_get(stack, "frames"), &hidden);
}

void render_threads(const struct page *p) {
    const json_t *threads = json_object_get(p->report, "threads");
    const json_t *owner =
        render_thread(p->report, value_int(json_object_get(p->report, "cause"), "lock_owner_tid"));
    int64_t missing = value_int(p->report, "threads_left_out");
    if (json_array_size(threads) == 0 && missing == 0)
        return;
    render_heading(p, "Threads");
    if (owner != NULL) {
        put_summary(p, owner, true);
        put_stack(p, owner);
    }
    for (size_t i = 0; i < json_array_size(threads); i++) {
        const json_t *thread = json_array_get(threads, i);
        if (thread == owner)
            continue;
        put_summary(p, thread, false);
        if (p->options->threads)
            put_stack(p, thread);
    }
    if (missing > 0)
        fprintf(p->out, "  %" PRId64 " thread%s not captured\n", missing, cli_plural(missing, "", "s"));
}
