/* SPDX-License-Identifier: MIT
 *
 * A wait for a lock: which thread has it, and where that was. Reports come from anywhere: what is
 * missing or of another type reads as NULL, 0 or empty.
 */
#include "cli/reader/own_frame.h"
#include "cli/render/render_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    NAME_WIDTH_MAX = 60
};

const json_t *render_thread(const json_t *report, int64_t tid) {
    const json_t *threads = json_object_get(report, "threads");
    for (size_t i = 0; i < json_array_size(threads); i++) {
        if (value_int(json_array_get(threads, i), "tid") == tid) {
            return json_array_get(threads, i);
        }
    }
    return NULL;
}

void render_put_thread(FILE *out, int64_t tid, const json_t *thread) {
    fprintf(out, "thread %" PRId64, tid);
    if (value_text(thread, "name") != NULL) {
        fprintf(out, " \"%s\"", value_text(thread, "name"));
    }
}

static void put_text(FILE *out, const char *before, char *text) {
    if (text != NULL) {
        fprintf(out, "%s%s", before, text);
    }
    free(text);
}

/* ", in fsync of journal.db"; with no `verb` only the file. */
static void put_wait(FILE *out, const char *verb, const char *syscall, const char *path) {
    if (verb != NULL && syscall != NULL) {
        fprintf(out, "%s%s", verb, syscall);
    }
    if (path != NULL) {
        fprintf(out, " of %s", path);
    }
}

/* " compact_log (lock.c:11)"; then the library's function that it called. */
static void put_place(FILE *out, const struct page *p, const json_t *thread, const char *verb, bool call) {
    const json_t *frames = json_object_get(json_object_get(thread, "stack"), "frames");
    const json_t *own = report_own_frame_of(p->report, frames);
    size_t at = 0;
    const char *path = value_text(thread, "path"), *syscall = value_text(thread, "syscall");
    if (own == NULL) {
        put_wait(out, verb, syscall, path);
        return;
    }
    while (json_array_get(frames, at) != own) {
        at++;
    }
    put_text(out, verb, render_function(p, own, NAME_WIDTH_MAX));
    const json_t *called = call ? render_called(p->report, frames, at) : NULL;
    if (called != NULL) {
        put_text(out, ", in ", render_call(p, called, NAME_WIDTH_MAX));
    }
    if (call && path != NULL) {
        put_wait(out, called != NULL ? NULL : ", in ", syscall, path);
    }
}

/* " (75% of the time)" at the end of the cause's sentence, or nothing. */
static const char *share_of(const char *detail) {
    static const char end[] = "% of the time)";
    size_t n = strlen(detail), tail = sizeof end - 1;
    if (n < tail || strcmp(detail + n - tail, end) != 0) {
        return "";
    }
    const char *at = strrchr(detail, '(');
    return at != NULL && at > detail && at[-1] == ' ' ? at - 1 : "";
}

/* "waited for a mutex held by ": the part of the cause's sentence before the thread's id. */
static size_t before_owner(const char *detail, int64_t owner) {
    char tid[24];
    snprintf(tid, sizeof tid, "%" PRId64, owner);
    const char *at = detail;
    while ((at = strstr(at, tid)) != NULL && strspn(at, "0123456789") != strlen(tid)) {
        at++;
    }
    if (at == NULL) {
        return 0;
    }
    size_t before = (size_t)(at - detail);
    static const char word[] = "thread ";
    const size_t n = sizeof word - 1;
    return before >= n && strncmp(detail + before - n, word, n) == 0 ? before - n : before;
}

/* Names a lock of a ring: only these kinds store an owner. */
static const char *name_of(const char *kind) {
    if (kind == NULL || strcmp(kind, "mutex") == 0) {
        return "a mutex";
    }
    return strcmp(kind, "unfair-lock") == 0 ? "an unfair lock" : "a read-write lock";
}

/* "waited for thread 71 "poller" to end, which was in poll_device (app.py:2)" */
static char *joined_text(const struct page *p, const char *detail) {
    static const char before[] = "waited for thread ", after[] = " to end";
    char *end = NULL, *text = NULL;
    size_t bytes;
    bool joins = detail != NULL && strncmp(detail, before, sizeof before - 1) == 0;
    int64_t tid = joins ? strtoll(detail + sizeof before - 1, &end, 10) : 0;
    const json_t *thread = tid > 0 ? render_thread(p->report, tid) : NULL;
    FILE *out =
        thread != NULL && strncmp(end, after, sizeof after - 1) == 0 ? open_memstream(&text, &bytes) : NULL;
    if (out == NULL) {
        return NULL;
    }
    fputs("waited for ", out);
    render_put_thread(out, tid, thread);
    fputs(after, out);
    put_place(out, p, thread, ", which was in ", true);
    fputs(share_of(detail), out);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

char *render_lock(const struct page *p) {
    const json_t *cause = json_object_get(p->report, "cause"), *ring = json_object_get(cause, "deadlock");
    const char *kind = value_text(cause, "kind"), *detail = value_text(cause, "detail");
    int64_t owner = value_int(cause, "lock_owner_tid");
    const json_t *thread = render_thread(p->report, owner);
    char *text = NULL;
    size_t bytes;
    bool two = json_array_size(ring) == 2;
    const char *lock = value_text(cause, "lock_kind");
    size_t before = detail != NULL && owner != 0 ? before_owner(detail, owner) : 0;
    if (owner == 0 && kind != NULL && strcmp(kind, "lock") == 0) {
        return joined_text(p, detail);
    }
    if (kind == NULL || (strcmp(kind, "lock") != 0 && strcmp(kind, "gil") != 0) || owner == 0 ||
        thread == NULL || before == 0 || (json_array_size(ring) != 0 && !two)) {
        return NULL;
    }
    FILE *out = open_memstream(&text, &bytes);
    if (out == NULL) {
        return NULL;
    }
    if (two) {
        fprintf(out, "deadlock: waits for %s held by ", name_of(lock));
    } else {
        fprintf(out, "%.*s", (int)before, detail);
    }
    render_put_thread(out, owner, thread);
    fputs(two ? ", which waits" : "", out);
    put_place(out, p, thread, two ? " in " : ", which was in ", !two);
    fputs(two ? " for one held by this thread" : share_of(detail), out);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
