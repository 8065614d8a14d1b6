/* SPDX-License-Identifier: MIT
 *
 * The threads of a report. The lock's owner comes first, with its frames. Each other thread has a line;
 * threads with equal stacks share one.
 */
#include "cli/render/render_parts.h"

#include <inttypes.h>
#include <stdlib.h>
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

/* ---- threads with equal stacks -------------------------------------------------------------- */

#define GROUP_MIN 4 /* fewer have a line each */
#define TIDS_SHOWN 3

static bool same_member(const json_t *a, const json_t *b, const char *name) {
    const json_t *x = json_object_get(a, name), *y = json_object_get(b, name);
    return x == y || json_equal(x, y);
}

static bool same_stack(const json_t *a, const json_t *b) {
    const json_t *x = json_object_get(json_object_get(a, "stack"), "frames"),
                 *y = json_object_get(json_object_get(b, "stack"), "frames");
    if (json_array_size(x) != json_array_size(y))
        return false;
    for (size_t i = 0; i < json_array_size(x); i++)
        if (!same_member(json_array_get(x, i), json_array_get(y, i), "pc"))
            return false;
    return true;
}

static bool is_alike(const json_t *a, const json_t *b) {
    return same_member(a, b, "state") && same_member(a, b, "syscall") && same_member(a, b, "waits_for_tid") &&
           same_member(a, b, "watched") && same_member(a, b, "error") && same_stack(a, b);
}

/* What the names of all begin with: "worker-" of worker-1 and worker-2; as long as there is anything. */
static size_t common_name(const json_t *threads, size_t first, const size_t *group, const char *name) {
    size_t n = strlen(name);
    for (size_t i = first; i < json_array_size(threads); i++) {
        const char *other = value_text(json_array_get(threads, i), "name");
        size_t same = 0;
        while (group[i] == first && same < n && other != NULL && other[same] == name[same])
            same++;
        n = group[i] == first ? same : n;
    }
    return n;
}

/* 80 threads "worker"  wait in futex: 4711, 4712, 4713 ... */
static void put_group(const struct page *p, const json_t *threads, size_t first, const size_t *group,
                      size_t count) {
    const json_t *thread = json_array_get(threads, first);
    const char *name = value_text(thread, "name"), *state = value_text(thread, "state"),
               *syscall = value_text(thread, "syscall");
    size_t shown = 0, same = name != NULL ? common_name(threads, first, group, name) : 0;
    int64_t waits_for = value_int(thread, "waits_for_tid");
    bool waits = state != NULL && (strcmp(state, "blocked") == 0 || strcmp(state, "uninterruptible") == 0);
    fprintf(p->out, "  %zu threads", count);
    if (same != 0) {
        char text[64];
        snprintf(text, sizeof text, " \"%.*s%s\"", (int)(same < 48 ? same : 48), name,
                 name[same] != '\0' ? "*" : "");
        sanitize_print(p->out, text);
    }
    fputs("  ", p->out);
    if (waits || (state != NULL && strcmp(state, "running") == 0))
        fputs(waits ? "wait" : "run", p->out);
    else
        sanitize_print(p->out, state);
    if (waits && syscall != NULL) {
        fputs(" in ", p->out);
        sanitize_print(p->out, syscall);
    }
    if (waits_for != 0)
        fprintf(p->out, ", for thread %" PRId64, waits_for);
    for (size_t i = first; i < json_array_size(threads) && shown < TIDS_SHOWN; i++)
        if (group[i] == first)
            fprintf(p->out, "%s%" PRId64, shown++ == 0 ? ": " : ", ",
                    value_int(json_array_get(threads, i), "tid"));
    fputs(" ...\n", p->out);
    put_stack(p, thread);
}

/* The first thread of each one's group, by index. NULL: no memory. */
static size_t *group_threads(const json_t *threads, const json_t *owner) {
    size_t count = json_array_size(threads), *group = calloc(count + 1, sizeof *group);
    for (size_t i = 0; group != NULL && i < count; i++) {
        const json_t *thread = json_array_get(threads, i);
        group[i] = i;
        for (size_t j = 0; j < i && group[i] == i && thread != owner; j++)
            if (group[j] == j && json_array_get(threads, j) != owner &&
                is_alike(json_array_get(threads, j), thread))
                group[i] = j;
    }
    return group;
}

static size_t count_group(const size_t *group, size_t count, size_t first) {
    size_t n = 0;
    for (size_t i = first; i < count; i++)
        n += group[i] == first;
    return n;
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
    size_t total = json_array_size(threads), *group = group_threads(threads, owner);
    for (size_t i = 0; i < total; i++) {
        const json_t *thread = json_array_get(threads, i);
        size_t count = group != NULL ? count_group(group, total, group[i]) : 0;
        if (thread == owner)
            continue;
        if (count >= GROUP_MIN) {
            if (group[i] == i)
                put_group(p, threads, i, group, count);
            continue;
        }
        put_summary(p, thread, false);
        if (p->options->threads)
            put_stack(p, thread);
    }
    free(group);
    if (missing > 0)
        fprintf(p->out, "  %" PRId64 " thread%s not captured\n", missing, cli_plural(missing, "", "s"));
}
