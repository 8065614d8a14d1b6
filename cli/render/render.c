/* SPDX-License-Identifier: MIT
 *
 * One report as text: the line that sums it up, the sentence that explains it, the hot stack, the threads.
 * Ordinary code.
 */
#include "cli/reader/reports.h"
#include "cli/render/render_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* hang  2.003 s  redis-server[1234]  sleep  2026-01-31 12:00:00 */
static void put_head(const struct page *p) {
    char duration[RENDER_DURATION_BYTES], time[RENDER_TIME_BYTES];
    const json_t *app = json_object_get(p->report, "app"), *cause = json_object_get(p->report, "cause");
    fputs(p->style.alarm, p->out);
    render_text(p->out, member_text(p->report, "kind"));
    fprintf(p->out, "  %s%s  ", render_duration(duration, member_int(p->report, "duration_ns")),
            p->style.end);
    render_text(p->out, member_text(app, "name"));
    fprintf(p->out, "[%" PRId64 "]", member_int(app, "pid"));
    if (cause != NULL) {
        fputs("  ", p->out);
        render_text(p->out, member_text(cause, "kind"));
    }
    fputs("  ", p->out);
    render_text(p->out, render_time(time, member_text(p->report, "started_at")));
    fputc('\n', p->out);
}

/* What a process left that died was written before its end. */
static void put_as_of(const struct page *p) {
    char time[RENDER_DURATION_BYTES];
    const json_t *hot = json_object_get(p->report, "hot_stack");
    double share = json_number_value(json_object_get(hot, "share"));
    double ns = share > 0 ? (double)member_int(hot, "duration_ns") / share : 0;
    if (ns > 0 && ns < 0.9 * (double)member_int(p->report, "duration_ns") && !render_is_open(p->report))
        fprintf(p->out, " (as of %s)", render_duration(time, (int64_t)ns));
}

static void put_cause(const struct page *p) {
    const json_t *cause = json_object_get(p->report, "cause");
    int64_t delay = member_int(cause, "run_delay_ns");
    const char *gil = render_after_gil(p->report);
    char duration[RENDER_DURATION_BYTES];
    if (cause == NULL)
        return;
    fprintf(p->out, "  cause: %s", p->style.bold);
    render_text(p->out, member_text(cause, "kind"));
    fputs(p->style.end, p->out);
    if (member_text(cause, "detail") != NULL) {
        fputs(gil != NULL ? ": waited for Python's interpreter lock (GIL)" : ": ", p->out);
        if (gil != NULL || !render_lock(p))
            render_text(p->out, gil != NULL ? gil : member_text(cause, "detail"));
        put_as_of(p);
    }
    fputc('\n', p->out);
    if (gil != NULL)
        render_who_ran(p);
    bool is_said = member_text(cause, "kind") != NULL && strcmp(member_text(cause, "kind"), "starved") == 0;
    if (!is_said && delay > member_int(p->report, "duration_ns") / 10)
        fprintf(p->out, "  and %s: no CPU was free\n", render_duration(duration, delay));
    if (member_int(cause, "throttled_ns") > member_int(p->report, "duration_ns") / 10)
        fprintf(p->out, "  for %s of it the CPU quota of its control group was used up\n",
                render_duration(duration, member_int(cause, "throttled_ns")));
}

static void put_remarks(const struct page *p) {
    char duration[RENDER_DURATION_BYTES];
    if (render_is_open(p->report))
        fputs("  nobody wrote its end: it goes on, or its process died, or the disk did not take it\n",
              p->out);
    if (member_int(p->report, "excluded_ns") > 0)
        fprintf(p->out, "  %s in which the process was stopped are taken off\n",
                render_duration(duration, member_int(p->report, "excluded_ns")));
    if (json_is_true(json_object_get(json_object_get(p->report, "process"), "debugger")))
        fputs("  a debugger or tracer was attached\n", p->out);
    if (member_text(p->report, "repeat_of") != NULL && p->options->not_kept) {
        fputs("  the same hang again, in brief\n", p->out);
    } else if (member_text(p->report, "repeat_of") != NULL) {
        fputs("  the same hang again, in brief; the whole report: ", p->out);
        render_command(p, p->options->repeated, member_text(p->report, "repeat_of"), "");
        fputc('\n', p->out);
    }
}

static void put_notes(const struct page *p) {
    for (size_t i = 0; i < json_array_size(p->options->notes); i++) {
        fprintf(p->out, "%s    (", p->style.dim);
        render_text(p->out, json_string_value(json_array_get(p->options->notes, i)));
        fprintf(p->out, ")%s\n", p->style.end);
    }
}

static void put_monitor(const struct page *p) {
    char pause[RENDER_DURATION_BYTES];
    const json_t *monitor = json_object_get(p->report, "monitor");
    if (monitor == NULL)
        return;
    int64_t samples = member_int(monitor, "samples"), calls = member_int(monitor, "interrupted_syscalls");
    fprintf(p->out,
            "\n%s  watched with %" PRId64 " sample%s, the longest pause %s, %" PRId64
            " system call%s interrupted%s%s\n",
            p->style.dim, samples, by_count(samples, "", "s"),
            render_duration(pause, member_int(monitor, "pause_max_ns")), calls, by_count(calls, "", "s"),
            json_is_true(json_object_get(monitor, "degraded")) ? "; fewer samples than asked, to cost less"
                                                               : "",
            p->style.end);
}

int render_report(FILE *out, const json_t *report, const struct render_options *o) {
    struct page p = {.out = out, .report = report, .options = o, .style = render_style(o->colour)};
    const json_t *hot = json_object_get(report, "hot_stack");
    put_head(&p);
    if (render_is_kind(report, "session")) {
        render_session(&p);
    } else {
        render_sentence(&p);
        render_loop(&p);
        put_cause(&p);
        put_remarks(&p);
    }
    if (hot != NULL) {
        fputc('\n', out);
        render_stack(&p, hot, true);
    }
    put_notes(&p);
    if (!o->brief)
        render_threads(&p);
    if (!o->brief)
        put_monitor(&p);
    if (fflush(out) != 0 || ferror(out)) {
        if (errno == 0)
            errno = EIO;
        return -1;
    }
    return 0;
}
