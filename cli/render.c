/* SPDX-License-Identifier: MIT
 *
 * One report as text: the line that sums it up, the sentence that explains it, the hot stack, the threads.
 * Ordinary code.
 */
#include "cli/render_parts.h"
#include "cli/reports.h"
#include "cli/script_frames.h"
#include "cli/short_name.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_WIDTH_MAX = 60 };

static bool is_kind(const json_t *report, const char *kind) {
    const char *have = member_text(report, "kind");
    return have != NULL && strcmp(have, kind) == 0;
}

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

static const char *verb_of(const json_t *report) {
    if (is_kind(report, "launch"))
        return "the launch took";
    if (is_kind(report, "live"))
        return "running for";
    if (is_kind(report, "fatal-hang"))
        return "hung until the process died, for";
    return json_is_false(json_object_get(report, "complete")) ? "hangs, so far for" : "hung for";
}

static const char *name_of(const json_t *frame) {
    const char *name = member_text(frame, "function");
    return name != NULL && name[0] != 0 ? name : NULL;
}

/* A library's inner name (__libc_write, __futex_abstimed_wait_common) says less than the function that it is
 * part of (write, pthread_cond_wait). */
static const char *public_name(const json_t *frames, size_t at) {
    const json_t *first = json_array_get(frames, at), *module = json_object_get(first, "module");
    const char *name = name_of(first);
    for (size_t i = at; name != NULL && strncmp(name, "__", 2) == 0 && i < json_array_size(frames); i++) {
        const json_t *frame = json_array_get(frames, i);
        if (module == NULL || !json_equal(json_object_get(frame, "module"), module))
            break;
        if (name_of(frame) != NULL && name_of(frame)[0] != '_')
            return name_of(frame);
    }
    return name;
}

/* The innermost function that has most of the time, if it has a name: of a path that fans out the leaf says
 * little. */
static const char *top_name(const json_t *report) {
    const json_t *frames = json_object_get(json_object_get(report, "hot_stack"), "frames");
    for (size_t i = 0; i < json_array_size(frames); i++) {
        const json_t *frame = json_array_get(frames, i), *share = json_object_get(frame, "share");
        if (!report_frame_is_ours(report, frame) && (share == NULL || json_number_value(share) >= 0.5))
            return public_name(frames, i);
    }
    return NULL;
}

/* " (app.py:12)": scripts have many functions of one name, and some without. */
static void put_script_place(const struct page *p, const json_t *frame) {
    const char *file = member_text(frame, "file"), *slash = file != NULL ? strrchr(file, '/') : NULL;
    if (script_frame_language(frame) == NULL || file == NULL)
        return;
    fputs(" (", p->out);
    render_text(p->out, slash != NULL ? slash + 1 : file);
    fprintf(p->out, ":%" PRId64 ")", member_int(frame, "line"));
}

static void put_name(const struct page *p, const char *name) {
    char *text = short_name(name != NULL ? name : "", NAME_WIDTH_MAX);
    render_text(p->out, text);
    free(text);
}

/* hung for 2.003 s in clock_nanosleep, called by debugCommand */
static void put_sentence(const struct page *p) {
    char duration[RENDER_DURATION_BYTES];
    const json_t *frame = report_own_frame(p->report);
    const char *top = top_name(p->report), *own = name_of(frame);
    fprintf(p->out, "  %s %s", verb_of(p->report),
            render_duration(duration, member_int(p->report, "duration_ns")));
    if (top != NULL && own != NULL && strcmp(top, own) != 0) {
        fputs(" in ", p->out);
        put_name(p, top);
        fputs(", called by ", p->out);
    } else if (top != NULL || own != NULL) {
        fputs(" in ", p->out);
    }
    fputs(p->style.bold, p->out);
    put_name(p, own != NULL ? own : top);
    fputs(p->style.end, p->out);
    if (own != NULL)
        put_script_place(p, frame);
    fputc('\n', p->out);
}

/* The main thread's loop goes without saying. */
static void put_loop(const struct page *p) {
    const json_t *loop = json_object_get(p->report, "loop");
    const char *name = member_text(loop, "name");
    if (name != NULL && name[0] != '\0' && strcmp(name, "main") != 0) {
        fputs("  in thread ", p->out);
        render_text(p->out, name);
        fprintf(p->out, " (%" PRId64 ")\n", member_int(loop, "tid"));
    }
}

static void put_cause(const struct page *p) {
    const json_t *cause = json_object_get(p->report, "cause");
    int64_t delay = member_int(cause, "run_delay_ns");
    char duration[RENDER_DURATION_BYTES];
    if (cause == NULL)
        return;
    fprintf(p->out, "  cause: %s", p->style.bold);
    render_text(p->out, member_text(cause, "kind"));
    fputs(p->style.end, p->out);
    if (member_text(cause, "detail") != NULL) {
        fputs(": ", p->out);
        render_text(p->out, member_text(cause, "detail"));
    }
    fputc('\n', p->out);
    bool is_said = member_text(cause, "kind") != NULL && strcmp(member_text(cause, "kind"), "starved") == 0;
    if (!is_said && delay > member_int(p->report, "duration_ns") / 10)
        fprintf(p->out, "  %s of it ready to run without a processor\n", render_duration(duration, delay));
}

static void put_remarks(const struct page *p) {
    char duration[RENDER_DURATION_BYTES];
    if (member_int(p->report, "excluded_ns") > 0)
        fprintf(p->out, "  %s in which the process was stopped are taken off\n",
                render_duration(duration, member_int(p->report, "excluded_ns")));
    if (member_text(p->report, "repeat_of") != NULL) {
        fputs("  the same hang again, in brief; the whole report: hangdog show ", p->out);
        render_text(p->out, member_text(p->report, "repeat_of"));
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
    fprintf(p->out,
            "\n%s  watched with %" PRId64 " samples, the longest pause %s, %" PRId64
            " system calls interrupted%s%s\n",
            p->style.dim, member_int(monitor, "samples"),
            render_duration(pause, member_int(monitor, "pause_max_ns")),
            member_int(monitor, "interrupted_syscalls"),
            json_is_true(json_object_get(monitor, "degraded")) ? "; fewer samples than asked, to cost less"
                                                               : "",
            p->style.end);
}

int render_report(FILE *out, const json_t *report, const struct render_options *o) {
    struct page p = {.out = out, .report = report, .options = o, .style = render_style(o->colour)};
    const json_t *hot = json_object_get(report, "hot_stack");
    put_head(&p);
    if (is_kind(report, "session")) {
        render_session(&p);
    } else {
        put_sentence(&p);
        put_loop(&p);
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
