/* SPDX-License-Identifier: MIT
 *
 * The frames of the short form: the user's own, innermost first, each with what it called. Reports come from
 * anywhere: what is missing or of another type reads as NULL, 0 or empty.
 */
#include "cli/reader/coverage.h"
#include "cli/reader/frame_origin.h"
#include "cli/reader/own_frame.h"
#include "cli/reader/script_frames.h"
#include "cli/render/render_parts.h"
#include "cli/render/short_name.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    SHOWN_MAX = 5,
    NAME_MIN = 14,
    NAME_MAX = 40,
    PLACE_MIN = 10,
    TAIL_MIN = 12,
    MARGIN = 4
};
#define SHARE_OF_PART 0.1 /* of a callee's time: a smaller part is not worth a word */

struct line {
    const json_t *frame;
    char *name, *place, *tail;
};

struct lines {
    struct line line[SHOWN_MAX];
    size_t count, hidden;
    size_t first;  /* index of the first one in the stack */
    bool own;      /* the first one is the user's, or a library's that stands for the hang */
    bool librarys; /* the latter */
    bool scripts;  /* true: a function of the language's own library */
};

static double share_of(const json_t *frame) {
    const json_t *share = json_object_get(frame, "share");
    return share != NULL ? json_number_value(share) : 1;
}

static bool is_named(const json_t *frame) {
    const char *name = value_text(frame, "function");
    return name != NULL && name[0] != 0;
}

const json_t *render_called(const json_t *report, const json_t *frames, size_t own) {
    const char *own_name = value_text(json_array_get(frames, own), "function");
    for (size_t i = own; i-- > 0;) {
        const json_t *frame = json_array_get(frames, i);
        if (report_frame_is_ours(report, frame) || report_frame_is_of_interpreter(report, frame) ||
            report_frame_is_ffi(report, frame) || !is_named(frame)) {
            continue;
        }
        bool wraps = own_name != NULL && strcmp(own_name, value_text(frame, "function")) == 0;
        return wraps ? NULL : frame;
    }
    return NULL;
}

/* ---- which frames -------------------------------------------------------------------------- */

static size_t index_of(const json_t *frames, const json_t *frame) {
    size_t i = 0;
    while (i < json_array_size(frames) && json_array_get(frames, i) != frame) {
        i++;
    }
    return i;
}

/* Or neither has the member. */
static bool has_same(const json_t *a, const json_t *b, const char *member) {
    const json_t *x = json_object_get(a, member), *y = json_object_get(b, member);
    return x == y || json_equal(x, y);
}

/* Recursion is one line. */
static bool is_same_function(const json_t *a, const json_t *b) {
    return is_named(a) && has_same(a, b, "function") && has_same(a, b, "file") && has_same(a, b, "line");
}

static bool is_of_module(const json_t *a, const json_t *b) {
    return a != NULL && json_equal(json_object_get(a, "module"), json_object_get(b, "module"));
}

/* If a library's function represents the hang: true for named frames, and the first frame of each library, up
 * to the loop. */
static bool is_part_of_library(const struct page *p, const json_t *frames, const struct lines *l, size_t at) {
    const json_t *frame = json_array_get(frames, at);
    const json_t *last = l->count > 0 ? l->line[l->count - 1].frame : NULL;
    if (at >= report_loop_of(frames) || json_object_get(frame, "module") == NULL) {
        return report_frame_is_own(p->report, frame);
    }
    return report_frame_is_librarys(p->report, frame) ||
           (!is_named(frame) && !is_of_module(last, frame) && !report_frame_is_glue(p->report, frame));
}

static bool is_wanted(const struct page *p, const json_t *frames, const struct lines *l, size_t at) {
    return at == l->first ||
           (l->scripts    ? script_frame_language(json_array_get(frames, at)) != NULL
            : l->librarys ? is_part_of_library(p, frames, l, at)
                          : !l->own || report_frame_is_own(p->report, json_array_get(frames, at)));
}

static void choose(const struct page *p, const json_t *frames, struct lines *l) {
    const json_t *own = report_own_frame_of(p->report, frames);
    bool users =
        own != NULL && (report_frame_is_own(p->report, own) || report_frame_is_plugin(p->report, own, true));
    l->librarys = own != NULL && !users && report_frame_is_librarys(p->report, own);
    l->scripts = own != NULL && !users && script_frame_language(own) != NULL;
    l->own = users || l->librarys || l->scripts;
    l->first = l->own ? index_of(frames, own) : 0;
    for (size_t i = 0; i < json_array_size(frames); i++) {
        const json_t *frame = json_array_get(frames, i),
                     *last = l->count > 0 ? l->line[l->count - 1].frame : NULL;
        if (report_frame_is_ours(p->report, frame)) {
            continue;
        }
        bool wanted = i >= l->first && is_wanted(p, frames, l, i);
        if (wanted && l->count < SHOWN_MAX && !(last != NULL && is_same_function(last, frame))) {
            l->line[l->count++].frame = frame;
        } else {
            l->hidden++;
        }
    }
}

/* ---- their texts --------------------------------------------------------------------------- */

/* The frame of the user's that the first one calls with a smaller part of the time. */
static const json_t *own_part(const struct page *p, const json_t *frames, size_t first) {
    for (size_t i = first; i-- > 0;) {
        const json_t *frame = json_array_get(frames, i);
        if (report_frame_is_own(p->report, frame) && is_named(frame)) {
            return frame;
        }
    }
    return NULL;
}

/* The outermost function of V8's garbage collector among the first `count` frames; NULL: none. The threads
 * that it waits for are V8's, so its locks are no locks of the program. */
static const json_t *collector_of(const json_t *frames, size_t count) {
    static const char *const names[] = {"v8::internal::Heap::CollectGarbage",
                                        "v8::internal::Heap::PerformGarbage",
                                        "v8::internal::MarkCompactCollector::", "v8::internal::Scavenger",
                                        "v8::internal::IncrementalMarking::"};
    while (count-- > 0) {
        const json_t *frame = json_array_get(frames, count);
        const char *function = value_text(frame, "function");
        for (size_t i = 0; function != NULL && i < sizeof names / sizeof names[0]; i++) {
            if (strncmp(function, names[i], strlen(names[i])) == 0) {
                return frame;
            }
        }
    }
    return NULL;
}

/* "in pthread_mutex_lock", "96%, of that 58% in <genexpr> (aio.py:6)", "80%". */
static char *tail_of(const struct page *p, const json_t *frames, const struct lines *l, size_t i, int width) {
    double share = share_of(l->line[i].frame), part = 0;
    const json_t *own = i == 0 && l->own ? own_part(p, frames, l->first) : NULL;
    const json_t *called = own == NULL && i == 0 && l->own ? render_called(p->report, frames, l->first) : own;
    const json_t *collector = own == NULL && i == 0 && l->own ? collector_of(frames, l->first) : NULL;
    char *name = NULL, *text = NULL;
    called = collector != NULL ? collector : called;
    if (called != NULL && share > 0) {
        part = share_of(called) / share;
    }
    bool most = part >= STACK_TIME_ALL, some = !most && part >= SHARE_OF_PART;
    int room = width > 0 ? width - (some ? 21 : share < STACK_TIME_ALL ? 8 : 3) : 0;
    if (width > 0 && room < 12) {
        room = 12;
    }
    if (most || some) {
        name = collector != NULL ? strdup("V8's garbage collector")
               : own != NULL     ? render_function(p, own, room)
                                 : render_call(p, called, room);
    }
    if (name != NULL && some) {
        (void)!asprintf(&text, "%.0f%%, of that %.0f%% in %s", 100 * share, 100 * part, name);
    } else if (name != NULL && share < STACK_TIME_ALL) {
        (void)!asprintf(&text, "%.0f%%, in %s", 100 * share, name);
    } else if (name != NULL) {
        (void)!asprintf(&text, "in %s", name);
    } else if (share < STACK_TIME_ALL) {
        (void)!asprintf(&text, "%.0f%%", 100 * share);
    }
    free(name);
    return text;
}

/* "lock.c:13", or of a library's function the library. */
static char *place_of(const struct page *p, const json_t *frame) {
    char *place = is_named(frame) ? render_place(frame) : NULL;
    if (place == NULL || place[0] != 0 || !report_frame_is_librarys(p->report, frame) ||
        report_frame_is_own(p->report, frame)) {
        return place;
    }
    free(place);
    return render_library(p->report, frame);
}

static int width_or_0(const char *text) {
    return text != NULL ? name_width(text) : 0;
}

/* Two spaces follow a text that is too long, too. Width 0: nothing follows. */
static void put_padded(const struct page *p, const char *style, const char *text, int width) {
    int left = width - width_or_0(text);
    fputs(style, p->out);
    sanitize_print(p->out, text);
    fputs(style[0] != 0 ? p->style.end : "", p->out);
    fprintf(p->out, "%*s", width == 0 ? 0 : left > 2 ? left : 2, "");
}

/* "  > lookup          lock.c:13   in pthread_mutex_lock" */
static void put_line(const struct page *p, const struct line *line, bool first, int name, int place) {
    bool more = line->tail != NULL, placed = line->place != NULL && line->place[0] != 0;
    fputs(first ? "  > " : "    ", p->out);
    put_padded(p, first ? p->style.bold : "", line->name, placed || more ? name + 2 : 0);
    if (placed || more) {
        put_padded(p, "", line->place, more ? place + 2 : 0);
    }
    sanitize_print(p->out, line->tail);
    fputc('\n', p->out);
}

/* In a narrow terminal what does not fit has a line of its own. */
static void put_narrow(const struct page *p, const struct line *line, bool first) {
    const char *const parts[] = {line->name, line->place, line->tail};
    int column = MARGIN;
    fputs(first ? "  > " : "    ", p->out);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        int w = width_or_0(parts[i]);
        if (w > 0 && i > 0) {
            bool fits = column + 2 + w <= p->options->width;
            fputs(fits ? "  " : "\n      ", p->out);
            column = fits ? column + 2 : MARGIN + 2;
        }
        bool bold = first && i == 0;
        fputs(bold ? p->style.bold : "", p->out);
        sanitize_print(p->out, parts[i]);
        fputs(bold ? p->style.end : "", p->out);
        column += w;
    }
    fputc('\n', p->out);
}

static int greater(int a, int b) {
    return a > b ? a : b;
}

/* Sets each tail, of at most `width` columns where that is possible. The columns of the longest one. */
static int set_tails(const struct page *p, const json_t *frames, struct lines *l, int width) {
    int longest = 0;
    for (size_t i = 0; i < l->count; i++) {
        free(l->line[i].tail);
        l->line[i].tail = tail_of(p, frames, l, i, width);
        longest = greater(longest, width_or_0(l->line[i].tail));
    }
    return longest;
}

void render_own_frames(const struct page *p, const json_t *frames, size_t *hidden) {
    struct lines l = {0};
    int name = NAME_MIN, place = PLACE_MIN, width = p->options->width, name_max = NAME_MAX;
    if (width > 0 && width < NAME_MAX + MARGIN) {
        name_max = greater(NAME_MIN, width - MARGIN);
    }
    choose(p, frames, &l);
    for (size_t i = 0; i < l.count; i++) {
        l.line[i].name = render_name(p, l.line[i].frame, width > 0 ? name_max : 0);
        l.line[i].place = place_of(p, l.line[i].frame);
        int w = width_or_0(l.line[i].name);
        name = w > name && w <= name_max ? w : name;
        place = greater(place, width_or_0(l.line[i].place));
    }
    int before = MARGIN + name + 2 + place + 2;
    int tail = set_tails(p, frames, &l, width > 0 ? greater(TAIL_MIN, width - before) : 0);
    bool narrow = width > 0 && (tail > 0 ? before + tail : before - 2) > width;
    if (narrow) {
        set_tails(p, frames, &l, greater(TAIL_MIN, width - MARGIN - 2));
    }
    for (size_t i = 0; i < l.count; i++) {
        if (narrow) {
            put_narrow(p, &l.line[i], i == 0);
        } else {
            put_line(p, &l.line[i], i == 0, name, place);
        }
        free(l.line[i].name);
        free(l.line[i].place);
        free(l.line[i].tail);
    }
    *hidden = l.hidden;
}
