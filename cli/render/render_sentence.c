/* SPDX-License-Identifier: MIT
 *
 * The sentence that tells what hung, for how long, and where. Ordinary code.
 */
#include "cli/reader/reports.h"
#include "cli/render/render_parts.h"
#include "cli/render/short_name.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_WIDTH_MAX = 60 };
#define SHARE_OF_ALL STACK_TIME_ALL /* less than that is told */

bool render_is_kind(const json_t *report, const char *kind) {
    const char *have = member_text(report, "kind");
    return have != NULL && strcmp(have, kind) == 0;
}

/* Of one that goes on, or that nobody settled since its process died, or whose end could not be written:
 * which of these no report knows. */
bool render_is_open(const json_t *report) {
    return json_is_false(json_object_get(report, "complete")) && !render_is_kind(report, "live") &&
           !render_is_kind(report, "fatal-hang");
}

static const char *verb_of(const json_t *report) {
    if (render_is_kind(report, "launch"))
        return render_is_open(report) ? "the launch took at least" : "the launch took";
    if (render_is_kind(report, "live"))
        return "running for";
    if (render_is_kind(report, "fatal-hang"))
        return "hung until the process";
    return render_is_open(report) ? "hung for at least" : "hung for";
}

/* "was killed by SIGABRT, for" */
static void put_death(const struct page *p) {
    const char *signal = member_text(json_object_get(p->report, "crash"), "signal");
    if (!render_is_kind(p->report, "fatal-hang"))
        return;
    fputs(signal != NULL ? "was killed by " : "died", p->out);
    render_text(p->out, signal);
    fputs(", for ", p->out);
}

/* What glibc's public functions end with, by a tail call that leaves no trace of them. */
static const char *public_name(const char *name) {
    static const char *const inner[][2] = {{"__pthread_clockjoin_ex", "pthread_join"},
                                           {"__new_sem_wait_slow64", "sem_wait"},
                                           {"__pthread_once_slow", "pthread_once"}};
    for (size_t i = 0; i < sizeof inner / sizeof inner[0]; i++)
        if (strcmp(name, inner[i][0]) == 0)
            return inner[i][1];
    return name;
}

static const char *name_of(const json_t *frame) {
    const char *name = member_text(frame, "function");
    return name != NULL && name[0] != 0 ? name : NULL;
}

static bool is_inner(const char *name) {
    return strncmp(name, "__", 2) == 0 || strncmp(name, "futex_wait", strlen("futex_wait")) == 0 ||
           strncmp(name, "lll_", strlen("lll_")) == 0;
}

/* A library's inner name (__libc_write, __futex_abstimed_wait_common) says less than the function that it is
 * part of (write, pthread_cond_wait); and where a tail call took that from the stack, than the one that it
 * ended with (__pthread_clockjoin_ex). */
static size_t find_public(const json_t *report, const json_t *frames, size_t at) {
    const json_t *first = json_array_get(frames, at), *module = json_object_get(first, "module");
    size_t outermost = at;
    if (name_of(first) == NULL || !is_inner(name_of(first)))
        return at;
    for (size_t i = at; i < json_array_size(frames); i++) {
        const json_t *frame = json_array_get(frames, i);
        if (module == NULL || !json_equal(json_object_get(frame, "module"), module) ||
            report_frame_origin(report, frame) != report_frame_origin(report, first))
            break;
        if (name_of(frame) == NULL)
            continue;
        if (name_of(frame)[0] != '_' && !is_inner(name_of(frame)))
            return i;
        outermost = i;
    }
    return outermost;
}

/* The innermost frame that has most of the time that is known: of a path that fans out the leaf says little.
 * SIZE_MAX: none. */
static size_t find_top(const json_t *report, const json_t *frames) {
    double half = report_stack_time(report).known / 2;
    for (size_t i = 0; i < json_array_size(frames); i++) {
        const json_t *frame = json_array_get(frames, i), *share = json_object_get(frame, "share");
        if (!report_frame_is_ours(report, frame) && (share == NULL || json_number_value(share) >= half))
            return find_public(report, frames, i);
    }
    return SIZE_MAX;
}

static void put_share(const struct page *p, const json_t *frame) {
    const json_t *share = json_object_get(frame, "share");
    if (share != NULL && json_number_value(share) < SHARE_OF_ALL)
        fprintf(p->out, ", %.0f %% of it", 100 * json_number_value(share));
}

/* Else that share would read as if the rest were in other functions. */
static void put_unknown(const struct page *p) {
    struct stack_time t = report_stack_time(p->report);
    if (t.known < STACK_TIME_ALL)
        fprintf(p->out, ", %.0f %% %s", 100 * (1 - t.known), t.is_exact ? "without a stack" : "not known");
}

static void put_name(const struct page *p, const char *name) {
    char *text = short_name(name, NAME_WIDTH_MAX);
    render_text(p->out, text);
    free(text);
}

/* "parse (app.py:12)": many functions have one name, and lambdas none; without symbols its place in the file.
 */
static void put_own(const struct page *p, const json_t *own) {
    const char *name = name_of(own);
    char *line = render_place(own), *place = name == NULL ? report_frame_place(p->report, own) : NULL;
    fputs(p->style.bold, p->out);
    if (name != NULL)
        put_name(p, name);
    else
        render_text(p->out, place);
    fputs(p->style.end, p->out);
    if (name != NULL && line != NULL && line[0] != 0) {
        fputs(" (", p->out);
        render_text(p->out, line);
        fputc(')', p->out);
    }
    free(line);
    free(place);
}

/* hung for 2.003 s in clock_nanosleep, called by debugCommand */
void render_sentence(const struct page *p) {
    char duration[RENDER_DURATION_BYTES];
    const json_t *frames = json_object_get(json_object_get(p->report, "hot_stack"), "frames");
    const json_t *own = report_own_frame(p->report);
    size_t top = find_top(p->report, frames);
    const json_t *called = NULL; /* by the app's own frame, which is further out */
    for (size_t i = top; i < json_array_size(frames); i++)
        if (i != top && json_array_get(frames, i) == own)
            called = json_array_get(frames, top);
    if (name_of(called) == NULL || (name_of(own) != NULL && strcmp(name_of(called), name_of(own)) == 0))
        called = NULL;
    fprintf(p->out, "  %s ", verb_of(p->report));
    put_death(p);
    fputs(render_duration(duration, member_int(p->report, "duration_ns")), p->out);
    if (own != NULL) {
        put_share(p, called != NULL ? called : own);
        fputs(" in ", p->out);
        if (called != NULL) {
            put_name(p, public_name(name_of(called)));
            fputs(", called by ", p->out);
        }
        put_own(p, own);
        put_unknown(p);
    }
    fputc('\n', p->out);
}

/* The main thread's loop goes without saying. */
void render_loop(const struct page *p) {
    const json_t *loop = json_object_get(p->report, "loop");
    const char *name = member_text(loop, "name");
    if (name != NULL && name[0] != '\0' && strcmp(name, "main") != 0) {
        fputs("  in thread ", p->out);
        render_text(p->out, name);
        fprintf(p->out, " (%" PRId64 ")\n", member_int(loop, "tid"));
    }
}
