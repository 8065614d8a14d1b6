/* SPDX-License-Identifier: MIT
 *
 * Why it hung, as a sentence. The report has one of its own; threads' names and places come from elsewhere in
 * it. Reports come from anywhere: what is missing or of another type reads as NULL, 0 or empty.
 */
#include "cli/reader/lock_function.h"
#include "cli/reader/script_frames.h"
#include "cli/render/render_parts.h"

#include <stdlib.h>
#include <string.h>

#define NAMED_MAX 16 /* threads: a deadlock has 8. Each is looked for among all of the report */

/* The report's sentence, with the names of the threads that it mentions. */
static void put_detail(FILE *out, const json_t *report, const char *detail) {
    static const char word[] = "thread ";
    const size_t n = sizeof word - 1;
    int named = 0;
    for (const char *at; (at = strstr(detail, word)) != NULL && named < NAMED_MAX; named++) {
        char *end;
        long long tid = strtoll(at + n, &end, 10);
        const json_t *thread = tid > 0 ? render_thread(report, tid) : NULL;
        fwrite(detail, 1, (size_t)((thread != NULL ? at : at + n) - detail), out);
        if (thread != NULL) {
            render_put_thread(out, tid, thread);
        }
        detail = thread != NULL ? end : at + n;
    }
    fputs(detail, out);
}

/* A dead process wrote its report before the end. */
static void put_as_of(FILE *out, const json_t *report) {
    char time[RENDER_DURATION_BYTES];
    const json_t *hot = json_object_get(report, "hot_stack");
    double share = json_number_value(json_object_get(hot, "share"));
    double ns = share > 0 ? (double)value_int(hot, "duration_ns") / share : 0;
    if (json_object_get(json_object_get(report, "cause"), "deadlock") !=
        NULL) { /* a deadlock lasts to the end */
        return;
    }
    if (ns > 0 && ns < 0.9 * (double)value_int(report, "duration_ns") && !render_is_open(report)) {
        fprintf(out, "; %s into it", render_duration(time, (int64_t)ns));
    }
}

static void put_lock_of(FILE *out, const json_t *report, const char *name) {
    double share = json_number_value(json_object_get(json_object_get(report, "cause"), "share"));
    fprintf(out, "waited for %s", name);
    if (share > 0 && share < 0.95) {
        fprintf(out, " (%.0f%% of the time)", 100 * share);
    }
}

static void put_gil(FILE *out, const json_t *report) {
    put_lock_of(out, report, "Python's GIL");
    render_who_ran(out, report);
}

/* Only the symbols of the hot stack name this lock: the report calls it an unknown one. */
static const char *named_lock(const json_t *report) {
    const json_t *cause = json_object_get(report, "cause");
    const char *kind = value_text(cause, "kind"), *syscall = value_text(cause, "syscall");
    bool unknown = kind != NULL && strcmp(kind, "lock") == 0 && syscall != NULL &&
                   strcmp(syscall, "futex") == 0 && value_text(cause, "lock_kind") == NULL &&
                   value_int(cause, "lock_owner_tid") == 0;
    return unknown ? report_lock_function(json_object_get(json_object_get(report, "hot_stack"), "frames"))
                   : NULL;
}

/* "waited at exit for child 71". Takes the text. */
static char *at_exit(char *text) {
    char *more = NULL;
    if (strncmp(text, "waited for ", strlen("waited for ")) != 0 ||
        asprintf(&more, "waited at exit%s", text + strlen("waited")) < 0) {
        return text;
    }
    free(text);
    return more;
}

char *render_why(const struct page *p) {
    const json_t *cause = json_object_get(p->report, "cause");
    const char *detail = value_text(cause, "detail");
    char *text = NULL, *lock = render_lock(p);
    size_t bytes;
    FILE *out = detail != NULL ? open_memstream(&text, &bytes) : NULL;
    if (out == NULL) {
        free(lock);
        return NULL;
    }
    if (lock != NULL) {
        fputs(lock, out);
    } else if (render_is_gil(p->report)) {
        put_gil(out, p->report);
    } else if (named_lock(p->report) != NULL) {
        put_lock_of(out, p->report, named_lock(p->report));
    } else {
        put_detail(out, p->report, detail);
    }
    if (!render_is_cpu(p->report)) { /* its times are CPU times */
        put_as_of(out, p->report);
    }
    free(lock);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    const json_t *hot = json_object_get(json_object_get(p->report, "hot_stack"), "frames");
    return script_frames_at_exit(hot) ? at_exit(text) : text;
}

char *render_cause(const json_t *report) {
    const struct render_options none = {0};
    return render_why(&(struct page){.report = report, .options = &none});
}
