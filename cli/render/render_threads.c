/* SPDX-License-Identifier: MIT
 *
 * The threads of a report as text. Ordinary code.
 */
#include "cli/render/render_parts.h"

#include <inttypes.h>

static void put_thread(const struct page *p, const json_t *thread) {
    const json_t *cpu = json_object_get(thread, "cpu_percent"), *stack = json_object_get(thread, "stack");
    fprintf(p->out, "\n  %sthread %" PRId64, p->style.bold, member_int(thread, "tid"));
    if (member_text(thread, "name") != NULL) {
        fputs(" ", p->out);
        render_text(p->out, member_text(thread, "name"));
    }
    fputs(p->style.end, p->out);
    if (json_is_true(json_object_get(thread, "watched")))
        fputs("  watched", p->out);
    if (member_text(thread, "state") != NULL) {
        fputs("  ", p->out);
        render_text(p->out, member_text(thread, "state"));
    }
    if (member_text(thread, "syscall") != NULL) {
        fputs(" in ", p->out);
        render_text(p->out, member_text(thread, "syscall"));
    }
    if (cpu != NULL)
        fprintf(p->out, "  %.0f %% of a processor", json_number_value(cpu));
    if (member_int(thread, "waits_for_tid") != 0)
        fprintf(p->out, "  waits for thread %" PRId64, member_int(thread, "waits_for_tid"));
    if (stack == NULL && member_text(thread, "error") != NULL) {
        fputs("  no stack: ", p->out);
        render_text(p->out, member_text(thread, "error"));
    }
    fputc('\n', p->out);
    if (stack != NULL)
        render_stack(p, stack, false);
}

void render_threads(const struct page *p) {
    const json_t *threads = json_object_get(p->report, "threads");
    size_t count = json_array_size(threads);
    if (count == 0)
        return;
    if (!p->options->threads) {
        if (p->options->not_kept)
            return;
        fprintf(p->out, "\n%s  %zu thread%s in the report: ", p->style.dim, count,
                by_count((int64_t)count, "", "s"));
        render_command(p, p->options->called, member_text(p->report, "id"), " --threads");
        fprintf(p->out, "%s\n", p->style.end);
        return;
    }
    for (size_t i = 0; i < count; i++)
        put_thread(p, json_array_get(threads, i));
    int64_t left = member_int(p->report, "threads_left_out");
    if (left > 0)
        fprintf(p->out, "\n  %" PRId64 " more thread%s left out\n", left, by_count(left, " was", "s were"));
}
