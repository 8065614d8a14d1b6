/* SPDX-License-Identifier: MIT
 *
 * The threads of a report. The lock's owner comes first, with its frames. Each other thread has a line;
 * threads with equal stacks share one.
 */
#include "cli/render/render_parts.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void put_state(const struct page *p, const json_t *thread) {
    const char *state = value_text(thread, "state"), *syscall = value_text(thread, "syscall");
    bool waits = state != NULL && (strcmp(state, "blocked") == 0 || strcmp(state, "uninterruptible") == 0);
    if (state != NULL) {
        fputs(waits ? "waits" : strcmp(state, "running") == 0 ? "runs" : "", p->out);
        if (!waits && strcmp(state, "running") != 0) {
            sanitize_print(p->out, state);
        }
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
    if (json_is_true(json_object_get(thread, "watched"))) {
        fputs(" (watched)", p->out);
    }
    fputs(json_is_true(json_object_get(thread, "pool")) ? " (pool)" : "", p->out);
    if (owner) {
        fputs(", has the mutex", p->out);
    }
    fputs("  ", p->out);
    put_state(p, thread);
    if (cpu != NULL) {
        fprintf(p->out, ", %.0f%% CPU", json_number_value(cpu));
    }
    if (value_int(thread, "for_ns") != 0) {
        char time[RENDER_DURATION_BYTES];
        fprintf(p->out, ", for %s", render_duration(time, value_int(thread, "for_ns")));
    }
    if (waits_for != 0) {
        fprintf(p->out, ", waits for thread %" PRId64, waits_for);
    }
    if (json_object_get(thread, "stack") == NULL && value_text(thread, "error") != NULL) {
        fputs(", no stack: ", p->out);
        sanitize_print(p->out, value_text(thread, "error"));
    }
    fputc('\n', p->out);
}

/* `shown` counts the frames of all threads. */
static void put_stack(const struct page *p, const json_t *thread, size_t *shown) {
    const json_t *stack = json_object_get(thread, "stack");
    size_t hidden = 0, most = p->options->frames_max;
    *shown += json_array_size(json_object_get(stack, "frames"));
    if (most != 0 && *shown > most) {
        fputs(stack != NULL ? "    (its stack is left out here)\n" : "", p->out);
        return;
    }
    if (stack != NULL && p->options->threads) {
        render_stack(p, stack, false);
    } else if (stack != NULL) {
        render_own_frames(p, json_object_get(stack, "frames"), &hidden);
    }
}

/* ---- threads with equal stacks -------------------------------------------------------------- */

#define GROUP_MIN 4 /* fewer have a line each */
#define TIDS_SHOWN 3

/* Threads that are alike, as a list by index. */
struct alike {
    size_t first; /* index of the group's first thread */
    size_t next;  /* next thread of the group; SIZE_MAX: none */
    size_t last;  /* valid in the group's first thread: the last thread, and the number of threads */
    size_t count;
};

static void put_value(FILE *out, const json_t *object, const char *name) {
    const json_t *value = json_object_get(object, name);
    const char *text = json_string_value(value);
    if (text != NULL) {
        fprintf(out, "%zu:%s", strlen(text), text);
    } else {
        fprintf(out, "%d %" PRId64 " ", value != NULL ? (int)json_typeof(value) : -1,
                (int64_t)json_integer_value(value));
    }
}

/* Equal for threads that are alike, and for no others. The caller frees it. NULL: no memory. */
static char *key_of(const json_t *thread) {
    static const char *const members[] = {"state", "syscall", "waits_for_tid", "watched", "pool", "error"};
    const json_t *frames = json_object_get(json_object_get(thread, "stack"), "frames"), *frame;
    char *text = NULL;
    size_t bytes, i;
    FILE *out = open_memstream(&text, &bytes);
    if (out == NULL) {
        return NULL;
    }
    for (i = 0; i < sizeof members / sizeof members[0]; i++) {
        put_value(out, thread, members[i]);
    }
    json_array_foreach(frames, i, frame) put_value(out, frame, "pc");
    if (fclose(out) == 0) {
        return text;
    }
    free(text);
    return NULL;
}

/* A report may have many threads: each is looked up once, not compared with each other one. NULL: no memory.
 */
static struct alike *group_threads(const json_t *threads, const json_t *owner) {
    size_t count = json_array_size(threads);
    struct alike *group = calloc(count + 1, sizeof *group);
    json_t *known = json_object();
    for (size_t i = 0; group != NULL && i < count; i++) {
        const json_t *thread = json_array_get(threads, i);
        char *key = thread != owner ? key_of(thread) : NULL;
        const json_t *same = key != NULL ? json_object_get(known, key) : NULL;
        size_t first = same != NULL ? (size_t)json_integer_value(same) : i;
        group[i] = (struct alike){.first = first, .next = SIZE_MAX, .last = i};
        if (first != i) {
            group[group[first].last].next = i;
        } else if (key != NULL) {
            json_object_set_new(known, key, json_integer((json_int_t)i));
        }
        group[first].last = i;
        group[first].count++;
        free(key);
    }
    json_decref(known);
    return group;
}

/* The length of the common start of all names: "worker-" for worker-1 and worker-2; 0: none. */
static size_t common_name(const json_t *threads, size_t first, const struct alike *group, const char *name) {
    size_t n = strlen(name);
    for (size_t i = first; i != SIZE_MAX && n > 0; i = group[i].next) {
        const char *other = value_text(json_array_get(threads, i), "name");
        size_t same = 0;
        while (same < n && other != NULL && other[same] == name[same]) {
            same++;
        }
        n = same;
    }
    return n;
}

/* ", for 1.2 s to 2.1 s": up to the end of the stall. */
static void put_times(const struct page *p, const json_t *threads, size_t first, const struct alike *group) {
    char least[RENDER_DURATION_BYTES], most[RENDER_DURATION_BYTES];
    int64_t least_ns = INT64_MAX, most_ns = 0;
    for (size_t i = first; i != SIZE_MAX; i = group[i].next) {
        int64_t ns = value_int(json_array_get(threads, i), "for_ns");
        least_ns = ns < least_ns ? ns : least_ns;
        most_ns = ns > most_ns ? ns : most_ns;
    }
    if (least_ns > 0) {
        render_duration(least, least_ns);
        render_duration(most, most_ns);
        bool same = strcmp(least, most) == 0;
        fprintf(p->out, ", for %s%s%s", same ? "" : least, same ? "" : " to ", most);
    }
}

/* 80 threads "worker"  wait in futex: 4711, 4712, 4713 ... */
static void put_group(const struct page *p, const json_t *threads, size_t first, const struct alike *group,
                      size_t *frames_shown) {
    const json_t *thread = json_array_get(threads, first);
    const char *name = value_text(thread, "name"), *state = value_text(thread, "state"),
               *syscall = value_text(thread, "syscall");
    size_t shown = 0, same = name != NULL ? common_name(threads, first, group, name) : 0;
    int64_t waits_for = value_int(thread, "waits_for_tid");
    bool waits = state != NULL && (strcmp(state, "blocked") == 0 || strcmp(state, "uninterruptible") == 0);
    fprintf(p->out, "  %zu threads%s", group[first].count,
            json_is_true(json_object_get(thread, "pool")) ? " of the pool" : "");
    if (same != 0) {
        char text[64];
        snprintf(text, sizeof text, " \"%.*s%s\"", (int)(same < 48 ? same : 48), name,
                 name[same] != '\0' ? "*" : "");
        sanitize_print(p->out, text);
    }
    fputs("  ", p->out);
    if (waits || (state != NULL && strcmp(state, "running") == 0)) {
        fputs(waits ? "wait" : "run", p->out);
    } else {
        sanitize_print(p->out, state);
    }
    if (waits && syscall != NULL) {
        fputs(" in ", p->out);
        sanitize_print(p->out, syscall);
    }
    if (waits_for != 0) {
        fprintf(p->out, ", for thread %" PRId64, waits_for);
    }
    put_times(p, threads, first, group);
    for (size_t i = first; i != SIZE_MAX && shown < TIDS_SHOWN; i = group[i].next) {
        fprintf(p->out, "%s%" PRId64, shown++ == 0 ? ": " : ", ",
                value_int(json_array_get(threads, i), "tid"));
    }
    fputs(group[first].count > TIDS_SHOWN ? " ...\n" : "\n", p->out);
    put_stack(p, thread, frames_shown);
}

void render_threads(const struct page *p) {
    const json_t *threads = json_object_get(p->report, "threads");
    const json_t *owner =
        render_thread(p->report, value_int(json_object_get(p->report, "cause"), "lock_owner_tid"));
    int64_t missing = value_int(p->report, "threads_left_out");
    size_t shown = 0;
    if (json_array_size(threads) == 0 && missing == 0) {
        return;
    }
    render_heading(p, "Threads");
    if (owner != NULL) {
        put_summary(p, owner, true);
        put_stack(p, owner, &shown);
    }
    size_t total = json_array_size(threads);
    struct alike *group = group_threads(threads, owner);
    for (size_t i = 0; i < total; i++) {
        const json_t *thread = json_array_get(threads, i);
        if (thread == owner) {
            continue;
        }
        if (group != NULL && group[group[i].first].count >= GROUP_MIN) {
            if (group[i].first == i) {
                put_group(p, threads, i, group, &shown);
            }
            continue;
        }
        put_summary(p, thread, false);
        if (p->options->threads) {
            put_stack(p, thread, &shown);
        }
    }
    free(group);
    if (missing > 0) {
        fprintf(p->out, "  %" PRId64 " thread%s not captured\n", missing, cli_plural(missing, "", "s"));
    }
}
