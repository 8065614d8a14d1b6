/* SPDX-License-Identifier: MIT
 *
 * A stack as columns: share, function, file and line, module and offset.
 */
#include "cli/reader/frame_origin.h"
#include "cli/reader/own_frame.h"
#include "cli/reader/report_words.h"
#include "cli/reader/script_frames.h"
#include "cli/render/render_parts.h"
#include "cli/render/short_name.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum {
    FUNCTION_MIN = 16,
    FUNCTION_ENOUGH = 40, /* with less, a frame has its place or its module */
    FUNCTION_MAX = 100,   /* where no terminal gives a width, a longer name makes its own line longer */
    PLACE_MAX = 40,
    SHARE_COLUMNS = 8,
    NO_SHARE_COLUMNS = 4
};

struct columns {
    int function, place, module;
    bool share, either; /* in one column the place, of a frame without one the module */
};

/* ---- which frames -------------------------------------------------------------------------- */

struct choice {
    const json_t *frames;
    bool *shown; /* each of them */
    size_t count;
};

/* The user's frames, and what the innermost one called; all where none is the user's. False: no memory. */
static bool choose(const struct page *p, struct choice *c) {
    const json_t *own = report_own_frame_of(p->report, c->frames);
    bool any = p->options->all_frames;
    c->count = json_array_size(c->frames);
    c->shown = calloc(c->count + 1, sizeof *c->shown);
    for (size_t i = 0; c->shown != NULL && !p->options->all_frames && i < c->count; i++) {
        const json_t *frame = json_array_get(c->frames, i);
        c->shown[i] = frame == own || report_frame_is_own(p->report, frame);
        any |= report_frame_is_own(p->report, frame);
        const json_t *called = frame == own ? render_called(p->report, c->frames, i) : NULL;
        for (size_t k = 0; called != NULL && k < i; k++) {
            c->shown[k] |= json_array_get(c->frames, k) == called;
        }
    }
    for (size_t i = 0; c->shown != NULL && i < c->count; i++) {
        c->shown[i] = (c->shown[i] || !any || p->options->all_frames) &&
                      !report_frame_is_ours(p->report, json_array_get(c->frames, i));
    }
    return c->shown != NULL;
}

/* ---- their texts --------------------------------------------------------------------------- */

/* "name", "name (inlined)". */
static char *function_text(const struct page *p, const json_t *frame, int width) {
    const char *trust = value_text(frame, "trust");
    const char *mark = script_frame_language(frame) != NULL              ? ""
                       : json_is_true(json_object_get(frame, "inlined")) ? " (inlined)"
                       : trust == NULL                                   ? ""
                       : strcmp(trust, "scan") == 0                      ? " (guessed)"
                       : strcmp(trust, "inferred") == 0                  ? " (tail call)"
                                                                         : "";
    char *text = NULL, *name = render_name(p, frame, width > 0 ? width - name_width(mark) : 0);
    if (name != NULL && asprintf(&text, "%s%s", name, mark) < 0) {
        text = NULL;
    }
    free(name);
    return text;
}

static char *module_text(const struct page *p, const json_t *frame) {
    if (script_frame_language(frame) != NULL) {
        return strdup(script_frame_language(frame));
    }
    char *place = report_frame_place(p->report, frame);
    if (place != NULL) {
        return place;
    }
    return strdup(value_text(frame, "pc") != NULL ? value_text(frame, "pc") : "?");
}

static int widen(int width, char *text, int max) {
    int w = text == NULL ? 0 : name_width(text);
    free(text);
    return w > width && w <= max ? w : width;
}

/* Of a frame without a name the function has it. */
static char *place_text(const struct page *p, const json_t *frame, bool either) {
    char *place = render_place(frame);
    const char *name = value_text(frame, "function");
    if (!either || place == NULL || place[0] != '\0' || name == NULL || name[0] == '\0') {
        return place;
    }
    free(place);
    return module_text(p, frame);
}

static int function_space(const struct page *p, const struct columns *c) {
    int space = p->options->width - (c->share ? SHARE_COLUMNS : NO_SHARE_COLUMNS) -
                (c->place > 0 ? c->place + 2 : 0) - (c->module > 0 ? c->module + 2 : 0);
    return space > FUNCTION_MIN ? space : FUNCTION_MIN;
}

/* Shortened names may need less than the space that they have. */
static int longest_function(const struct page *p, const struct choice *picked, int width) {
    int longest = FUNCTION_MIN;
    for (size_t i = 0; i < picked->count; i++) {
        if (picked->shown[i]) {
            longest = widen(longest, function_text(p, json_array_get(picked->frames, i), width), width);
        }
    }
    return longest;
}

/* A terminal too narrow for the three columns. */
static void join_place_and_module(const struct page *p, const struct choice *picked, struct columns *c) {
    c->either = true;
    c->module = 0;
    for (size_t i = 0; i < picked->count; i++) {
        if (picked->shown[i]) {
            c->place = widen(c->place, place_text(p, json_array_get(picked->frames, i), true), PLACE_MAX);
        }
    }
}

/* The function gives way where the terminal is narrow. */
static struct columns measure(const struct page *p, const struct choice *picked) {
    struct columns c = {.function = FUNCTION_MIN};
    int width = p->options->width;
    for (size_t i = 0; i < picked->count; i++) {
        const json_t *frame = json_array_get(picked->frames, i);
        if (!picked->shown[i]) {
            continue;
        }
        c.function = widen(c.function, function_text(p, frame, 0), width > 0 ? INT_MAX : FUNCTION_MAX);
        c.place = widen(c.place, render_place(frame), PLACE_MAX);
        if (p->options->all_frames) {
            c.module = widen(c.module, module_text(p, frame), INT_MAX);
        }
        c.share |= json_object_get(frame, "share") != NULL;
    }
    if (width > 0 && c.function > function_space(p, &c)) {
        if (c.module > 0 && function_space(p, &c) < FUNCTION_ENOUGH) {
            join_place_and_module(p, picked, &c);
        }
        c.function = longest_function(p, picked, function_space(p, &c));
    }
    return c;
}

/* ---- their lines --------------------------------------------------------------------------- */

static void put_column(const struct page *p, const char *style, char *text, int width) {
    int w = text == NULL ? 0 : name_width(text);
    fputs(style, p->out);
    sanitize_print(p->out, text);
    fputs(style[0] != 0 ? p->style.end : "", p->out);
    fprintf(p->out, "%*s", w + 2 < width ? width - w : width > 0 ? 2 : 0, "");
    free(text);
}

static void put_frame(const struct page *p, const json_t *frame, const struct columns *c, bool bold) {
    const json_t *share = json_object_get(frame, "share");
    char *place = place_text(p, frame, c->either);
    bool placed = place != NULL && place[0] != 0;
    if (share != NULL) {
        fprintf(p->out, "%5.0f%%  ", json_number_value(share) * 100);
    } else {
        fprintf(p->out, "%*s", c->share ? SHARE_COLUMNS : NO_SHARE_COLUMNS, "");
    }
    put_column(p, bold ? p->style.bold : "", function_text(p, frame, p->options->width > 0 ? c->function : 0),
               placed || c->module > 0 ? c->function + 2 : 0);
    if (placed || c->module > 0) {
        put_column(p, "", place, c->module > 0 && c->place > 0 ? c->place + 2 : 0);
    } else {
        free(place);
    }
    if (c->module > 0) {
        put_column(p, p->style.dim, module_text(p, frame), 0);
    }
    fputc('\n', p->out);
}

/* True if a search found the frame behind code that no table describes. */
static bool is_behind_gap(const json_t *frame) {
    const char *trust = value_text(frame, "trust");
    return trust != NULL && strcmp(trust, "gap") == 0;
}

static void put_gap(const struct page *p, const struct columns *c) {
    fprintf(p->out, "%*s%s(frames may be missing here)%s\n", c->share ? SHARE_COLUMNS : NO_SHARE_COLUMNS, "",
            p->style.dim, p->style.end);
}

void render_stop(const struct page *p, const json_t *stack) {
    const char *stop = value_text(stack, "stop"), *why = report_words_stop(stop);
    if (json_object_get(p->report, "watch") != NULL && stop != NULL && strcmp(stop, "no-answer") == 0) {
        why =
            "the kernel gave no sample of the thread that ran: it got no CPU, or kernel.perf_event_paranoid "
            "is above 2 and the watcher is not root";
    }
    const char *what =
        json_array_size(json_object_get(stack, "frames")) == 0 ? "no stack" : "stack ends here";
    char text[256];
    if (why != NULL) {
        snprintf(text, sizeof text, "(%s: %s)", what, why);
        render_wrapped(p, p->style.dim, "    ", NO_SHARE_COLUMNS, text);
    }
}

void render_stack(const struct page *p, const json_t *stack, bool hot) {
    struct choice picked = {.frames = json_object_get(stack, "frames")};
    const json_t *own = report_own_frame_of(p->report, picked.frames);
    size_t hidden = 0;
    bool gap = false; /* since the last frame that is shown */
    if (!choose(p, &picked)) {
        return;
    }
    struct columns c = measure(p, &picked);
    struct branches *branches = hot ? render_branches(p->report, picked.frames) : NULL;
    for (size_t i = 0; i < picked.count; i++) {
        const json_t *frame = json_array_get(picked.frames, i);
        gap |= is_behind_gap(frame);
        if (!picked.shown[i]) {
            hidden += !report_frame_is_ours(p->report, frame);
            continue;
        }
        if (gap) {
            put_gap(p, &c);
        }
        gap = false;
        put_frame(p, frame, &c, frame == own);
        render_branch(p, branches, i, c.share ? SHARE_COLUMNS : NO_SHARE_COLUMNS);
    }
    if (gap) {
        put_gap(p, &c);
    }
    int64_t cut = value_int(stack, "cut");
    if (cut > 0) {
        fprintf(p->out, "    (%" PRId64 " frame%s of the middle %s not in the report)\n", cut,
                cli_plural(cut, "", "s"), cli_plural(cut, "is", "are"));
    }
    render_stop(p, stack);
    if (hot && hidden != 0) {
        fprintf(p->out, "%s  ", p->style.dim);
        render_hidden(p, hidden, "");
        fprintf(p->out, "%s\n", p->style.end);
    }
    free(branches);
    free(picked.shown);
}
