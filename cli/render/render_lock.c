/* SPDX-License-Identifier: MIT
 *
 * A wait for a mutex: which thread has it locked, and where that was. Ordinary code. Reports come from
 * anywhere: what is missing or of another type reads as NULL, 0 or empty.
 */
#include "cli/reader/reports.h"
#include "cli/render/render_parts.h"
#include "cli/render/short_name.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_WIDTH_MAX = 60 };

static const json_t *thread_of(const json_t *report, int64_t tid) {
    const json_t *threads = json_object_get(report, "threads");
    for (size_t i = 0; i < json_array_size(threads); i++)
        if (member_int(json_array_get(threads, i), "tid") == tid)
            return json_array_get(threads, i);
    return NULL;
}

static void put_name(const struct page *p, const json_t *frame) {
    const char *name = member_text(frame, "function");
    char *text = name != NULL ? short_name(name, NAME_WIDTH_MAX) : report_frame_place(p->report, frame);
    char *line = name != NULL ? render_place(frame) : NULL;
    render_text(p->out, text);
    if (line != NULL && line[0] != 0) {
        fputs(" (", p->out);
        render_text(p->out, line);
        fputc(')', p->out);
    }
    free(line);
    free(text);
}

/* " compact_log (lock.c:11)"; then the library's function that it called. */
static void put_place(const struct page *p, const json_t *thread, const char *verb, bool called) {
    const json_t *frames = json_object_get(json_object_get(thread, "stack"), "frames");
    const json_t *own = report_own_frame_of(p->report, frames);
    if (own == NULL)
        return;
    fputs(verb, p->out);
    put_name(p, own);
    size_t at = 0;
    while (json_array_get(frames, at) != own)
        at++;
    const char *name = at > 0 ? member_text(json_array_get(frames, at - 1), "function") : NULL;
    if (called && name != NULL) {
        fputs(", in ", p->out);
        render_text(p->out, name + strspn(name, "_"));
    }
}

/* ` "compactor"` */
static void put_thread(const struct page *p, int64_t tid, const json_t *thread) {
    fprintf(p->out, "thread %" PRId64, tid);
    if (member_text(thread, "name") != NULL) {
        fputs(" \"", p->out);
        render_text(p->out, member_text(thread, "name"));
        fputc('"', p->out);
    }
}

bool render_lock(const struct page *p) {
    const json_t *cause = json_object_get(p->report, "cause"), *ring = json_object_get(cause, "deadlock");
    const char *kind = member_text(cause, "kind"), *detail = member_text(cause, "detail");
    int64_t owner = member_int(cause, "lock_owner_tid");
    const json_t *thread = thread_of(p->report, owner);
    if (kind == NULL || strcmp(kind, "lock") != 0 || detail == NULL || owner == 0 || thread == NULL ||
        json_array_size(ring) == 1 || json_array_size(ring) > 2)
        return false;
    if (json_array_size(ring) == 2) {
        fputs("deadlock: waits for a mutex held by ", p->out);
        put_thread(p, owner, thread);
        fputs(", which waits", p->out);
        put_place(p, thread, " in ", false);
        fputs(" for one held by this thread", p->out);
        return true;
    }
    const char *part = strstr(detail, " for "), *next;
    while (part != NULL && (next = strstr(part + 1, " for ")) != NULL)
        part = next; /* "for 1.980 s of 2.000 s" */
    bool some = part != NULL && strstr(part, " of ") != NULL;
    fputs(some ? "waited" : "waited for a mutex held by ", p->out);
    if (some) {
        render_text(p->out, part);
        fputs(" for a mutex held by ", p->out);
    }
    if (strstr(detail, "several threads") != NULL)
        fputs("several threads, longest by ", p->out);
    put_thread(p, owner, thread);
    put_place(p, thread, ", which was in ", true);
    return true;
}
