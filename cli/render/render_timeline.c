/* SPDX-License-Identifier: MIT
 *
 * Prints the thread's activity over the time of the hang. Samples that are alike are one row.
 */
#include "cli/base/sanitize.h"
#include "cli/reader/own_frame.h"
#include "cli/render/render_parts.h"
#include "cli/render/short_name.h"

#include <stdlib.h>
#include <string.h>

enum {
    ROWS_MAX = 12,
    STATE_MIN = 20,       /* "waits in epoll_pwait" */
    STATE_NARROW = 11,    /* "wants a CPU", in a narrow terminal */
    TIMES = 29,           /* columns of both times */
    FUNCTION_ENOUGH = 24, /* with less, a function has no file and line */
    NAME_ENOUGH = 12,     /* with less, it is below */
    NARROW = 80
};

struct row {
    int64_t at_ns, for_ns;
    const char *state, *syscall;
    const json_t *own; /* NULL: no stack */
};

static bool is_same(const char *a, const char *b) {
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool is_alike(const struct row *a, const struct row *b) {
    return is_same(a->state, b->state) && is_same(a->syscall, b->syscall) &&
           json_equal(json_object_get(a->own, "function"), json_object_get(b->own, "function")) &&
           (a->own == NULL) == (b->own == NULL);
}

/* The own frame of each stack of the report, looked up once: a timeline may have many samples. */
struct own_frames {
    const json_t **frame;
    size_t count;
};

static struct own_frames own_frames_of(const struct page *p) {
    const json_t *stacks = json_object_get(json_object_get(p->report, "samples"), "stacks"), *stack;
    size_t count = json_array_size(stacks), i;
    struct own_frames own = {.frame = calloc(count + 1, sizeof(json_t *))};
    if (own.frame == NULL) {
        return own;
    }
    own.count = count;
    json_array_foreach(stacks, i, stack) own.frame[i] =
        report_own_frame_of(p->report, json_object_get(stack, "frames"));
    return own;
}

static struct row row_of(const struct own_frames *own, const json_t *entry) {
    const json_t *index = json_object_get(entry, "stack");
    json_int_t stack = json_is_integer(index) ? json_integer_value(index) : -1;
    return (struct row){.at_ns = value_int(entry, "at_ns"),
                        .for_ns = value_int(entry, "for_ns"),
                        .state = value_text(entry, "state"),
                        .syscall = value_text(entry, "syscall"),
                        .own = stack >= 0 && (size_t)stack < own->count ? own->frame[stack] : NULL};
}

/* The function, behind a state of `used` columns; in a line of its own where it has no space there. */
static void put_function(const struct page *p, const json_t *own, int used) {
    int width = p->options->width, least = width > 0 && width < NARROW ? STATE_NARROW : STATE_MIN;
    int state = used > least ? used : least, space = width - TIMES - state - 2;
    bool below = width > 0 && space < NAME_ENOUGH;
    space = width == 0 ? 0 : below ? width - TIMES : space;
    bool placed = width == 0 || space >= FUNCTION_ENOUGH;
    char *name = own == NULL ? NULL : placed ? render_function(p, own, space) : render_name(p, own, space);
    if (name != NULL) {
        fprintf(p->out, "%s%*s", below ? "\n" : "", below ? TIMES : state - used + 2, "");
        sanitize_print(p->out, name);
    }
    free(name);
}

/* "    0 ms    901 ms  waits in futex    lookup (lock.c:13)" */
static void put_row(const struct page *p, const struct row *row) {
    char at[RENDER_DURATION_BYTES], took[RENDER_DURATION_BYTES], state[80];
    bool waits = row->state != NULL &&
                 (strcmp(row->state, "blocked") == 0 || strcmp(row->state, "uninterruptible") == 0);
    snprintf(state, sizeof state, "%s%s%.40s",
             row->state == NULL                    ? "?"
             : waits                               ? "waits"
             : strcmp(row->state, "running") == 0  ? "runs"
             : strcmp(row->state, "runnable") == 0 ? "wants a CPU"
                                                   : "stopped",
             waits && row->syscall != NULL ? " in " : "", waits && row->syscall != NULL ? row->syscall : "");
    render_duration(at, row->at_ns);
    render_duration(took, row->for_ns);
    fprintf(p->out, "  at %8s  for %8s  ", row->at_ns == 0 ? "0 ms" : at, took);
    sanitize_print(p->out, state);
    put_function(p, row->own, name_width(state));
    fputc('\n', p->out);
}

void render_timeline(const struct page *p) {
    const json_t *timeline = json_object_get(json_object_get(p->report, "samples"), "timeline");
    size_t rows = 0, count = json_array_size(timeline);
    if (count == 0) {
        return;
    }
    struct own_frames own = own_frames_of(p);
    render_heading(p, "Timeline");
    for (size_t i = 0; i < count;) {
        struct row row = row_of(&own, json_array_get(timeline, i));
        for (i++; i < count; i++) {
            struct row next = row_of(&own, json_array_get(timeline, i));
            if (!is_alike(&row, &next)) {
                break;
            }
            row.for_ns = value_sum(row.for_ns, next.for_ns);
        }
        if (rows++ < ROWS_MAX) {
            put_row(p, &row);
        }
    }
    if (rows > ROWS_MAX) {
        fprintf(p->out, "  %s(%zu later row%s; --json has all)%s\n", p->style.dim, rows - ROWS_MAX,
                cli_plural((int64_t)(rows - ROWS_MAX), "", "s"), p->style.end);
    }
    free(own.frame);
}
