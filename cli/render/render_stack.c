/* SPDX-License-Identifier: MIT
 *
 * A stack as columns: share, function, file and line, module and offset. Ordinary code.
 */
#include "cli/base/path.h"
#include "cli/reader/reports.h"
#include "cli/reader/script_frames.h"
#include "cli/render/render_parts.h"
#include "cli/render/short_name.h"

#include <stdlib.h>
#include <string.h>

enum { FUNCTION_WIDTH_MAX = 44, PLACE_WIDTH_MAX = 40 };

/* "name", "name (inlined)"; without symbols where the function begins, as far as that is known. */
static char *function_text(const json_t *frame) {
    const char *name = member_text(frame, "function"), *trust = member_text(frame, "trust");
    const char *mark = script_frame_language(frame) != NULL              ? ""
                       : json_is_true(json_object_get(frame, "inlined")) ? " (inlined)"
                       : trust == NULL                                   ? ""
                       : strcmp(trust, "scan") == 0                      ? " (found by scan)"
                       : strcmp(trust, "inferred") == 0                  ? " (inferred)"
                                                                         : "";
    char *text = NULL, *shown = short_name(name != NULL ? name : "?", FUNCTION_WIDTH_MAX - width_of(mark));
    if (shown != NULL && asprintf(&text, "%s%s", shown, mark) < 0)
        text = NULL;
    free(shown);
    return text;
}

char *render_place(const json_t *frame) {
    const char *file = member_text(frame, "file");
    char *text;
    if (file == NULL)
        return strdup("");
    if (member_int(frame, "line") <= 0)
        return strdup(base_name(file));
    return asprintf(&text, "%s:%d", base_name(file), (int)member_int(frame, "line")) < 0 ? NULL : text;
}

static char *module_text(const json_t *report, const json_t *frame) {
    if (script_frame_language(frame) != NULL)
        return strdup(script_frame_language(frame));
    char *place = report_frame_place(report, frame);
    if (place != NULL)
        return place;
    return strdup(member_text(frame, "pc") != NULL ? member_text(frame, "pc") : "?");
}

struct columns {
    int function, place;
    bool share;
};

static void widen(int *width, char *text, int max) {
    int w = text == NULL ? 0 : width_of(text);
    if (w > *width && w <= max)
        *width = w;
    free(text);
}

/* ---- what of a stack is shown --------------------------------------------------------------- */

enum { INNERMOST = 6, OUTERMOST = 4, AROUND = 2 }; /* shown at least */

struct choice {
    const json_t *frames;
    bool *shown; /* each of them */
    size_t count, left;
};

static void take(struct choice *c, size_t from, size_t to) {
    for (size_t i = from; i < to && i < c->count && c->left != 0; i++)
        if (!c->shown[i]) {
            c->shown[i] = true;
            c->left--;
        }
}

/* Of a stack that is too long both ends and what is around the app's own frame, then its other frames that
 * are the app's, then the innermost. */
static void take_some(struct choice *c, const json_t *report, const json_t *own) {
    size_t at = 0;
    while (at < c->count && json_array_get(c->frames, at) != own)
        at++;
    take(c, 0, INNERMOST);
    take(c, c->count - OUTERMOST, c->count);
    if (at < c->count)
        take(c, at > AROUND ? at - AROUND : 0, at + AROUND + 1);
    for (size_t i = 0; own != NULL && i < c->count; i++)
        if (report_frame_origin(report, json_array_get(c->frames, i)) == report_frame_origin(report, own))
            take(c, i, i + 1);
    take(c, 0, c->count);
}

/* Frames of our own that stand between the program and its wait never are. False: no memory. */
static bool choose(const struct page *p, struct choice *c, const json_t *own) {
    size_t max = p->options->max_frames;
    c->count = json_array_size(c->frames);
    c->shown = calloc(c->count + 1, sizeof *c->shown);
    if (c->shown == NULL)
        return false;
    c->left = max;
    if (max <= INNERMOST + OUTERMOST || c->count <= max)
        memset(c->shown, true, c->count);
    else
        take_some(c, p->report, own);
    for (size_t i = 0; i < c->count; i++)
        c->shown[i] &= !report_frame_is_ours(p->report, json_array_get(c->frames, i));
    return true;
}

static struct columns measure(const struct choice *chosen) {
    struct columns c = {.function = 16};
    for (size_t i = 0; i < chosen->count; i++) {
        const json_t *frame = json_array_get(chosen->frames, i);
        if (!chosen->shown[i])
            continue;
        widen(&c.function, function_text(frame), FUNCTION_WIDTH_MAX);
        widen(&c.place, render_place(frame), PLACE_WIDTH_MAX);
        c.share |= json_object_get(frame, "share") != NULL;
    }
    return c;
}

/* ---- its lines ------------------------------------------------------------------------------ */

/* True: it was too long for its column. */
static bool put_column(const struct page *p, const char *style, char *text, int width) {
    int w = text == NULL ? 0 : width_of(text);
    fputs(style, p->out);
    render_text(p->out, text);
    fputs(style[0] != 0 ? p->style.end : "", p->out);
    if (w <= width)
        fprintf(p->out, "%*s", width - w + 2, "");
    free(text);
    return w > width;
}

/* A name that is too long all the same has a line of its own, so that what follows stays in its columns. */
static void put_frame(const struct page *p, const json_t *frame, const struct columns *c, bool bold) {
    const json_t *share = json_object_get(frame, "share");
    if (share != NULL)
        fprintf(p->out, "%6.0f %%  ", json_number_value(share) * 100);
    else
        fprintf(p->out, "%s", c->share ? "          " : "    ");
    if (put_column(p, bold ? p->style.bold : "", function_text(frame), c->function))
        fprintf(p->out, "\n%*s", (c->share ? 10 : 4) + c->function + 2, "");
    if (c->place != 0)
        put_column(p, "", render_place(frame), c->place);
    char *module = module_text(p->report, frame);
    fputs(p->style.dim, p->out);
    render_text(p->out, module);
    fprintf(p->out, "%s\n", p->style.end);
    free(module);
}

static void put_stop(const struct page *p, const json_t *stack) {
    static const struct {
        const char *word, *text;
    } stops[] = {
        {"no-unwind-information", "there is no unwind information for the last frame"},
        {"unreadable", "the stack could not be read any further"},
        {"no-progress", "the stack is damaged, or the unwind information is wrong"},
        {"limit", "there is more of it than the 64 KiB that are looked at"},
        {"no-answer",
         "the thread gave no answer; it may be busy in the kernel still, block or ignore the signal that asks, have a "
         "handler of its own for it, be under a filter, or see no /proc of its namespace of processes"},
        {"exited", "the thread ended"},
        {"no-room", "its alternate signal stack is too small for the signal that asks"},
    };
    const char *stop = member_text(stack, "stop");
    long long cut = member_int(stack, "cut");
    if (cut > 0)
        fprintf(p->out, "    (%lld frame%s of the middle %s left out)\n", cut, by_count(cut, "", "s"),
                by_count(cut, "was", "were"));
    const char *what =
        json_array_size(json_object_get(stack, "frames")) == 0 ? "no stack" : "not a whole stack";
    for (size_t i = 0; stop != NULL && i < sizeof stops / sizeof stops[0]; i++)
        if (strcmp(stop, stops[i].word) == 0)
            fprintf(p->out, "    (%s: %s)\n", what, stops[i].text);
}

/* Its shares are of the whole hang, also where that has no stack. */
static void put_unknown(const struct page *p) {
    struct stack_time t = report_stack_time(p->report);
    if (t.known >= STACK_TIME_ALL)
        return;
    fprintf(p->out, "    (no stack for %.0f %% of the time", 100 * (1 - t.known));
    if (!t.is_exact)
        fputs(", or one that begins elsewhere", p->out);
    else if (t.no_answer)
        fputs(
            ": the thread ran and gave no answer, or could not be asked; it may block the signal, have a handler of its own for it, or "
            "be under a filter",
            p->out);
    fputs(")\n", p->out);
}

/* How many are left out at `at`, those of our own not counted. */
static size_t left_out_at(const struct page *p, const struct choice *c, size_t at) {
    size_t left = 0;
    for (size_t i = at; i < c->count && !c->shown[i]; i++)
        left += !report_frame_is_ours(p->report, json_array_get(c->frames, i));
    return left;
}

void render_stack(const struct page *p, const json_t *stack, bool hot) {
    const json_t *own = hot ? report_own_frame(p->report) : NULL;
    struct choice chosen = {.frames = json_object_get(stack, "frames")};
    if (!choose(p, &chosen, own))
        return;
    struct columns c = measure(&chosen);
    struct fans *fans = hot ? render_fans(p->report, chosen.frames) : NULL;
    bool all = true;
    for (size_t i = 0; i < chosen.count; i++) {
        const json_t *frame = json_array_get(chosen.frames, i);
        size_t left = i == 0 || chosen.shown[i - 1] ? left_out_at(p, &chosen, i) : 0;
        if (left != 0)
            fprintf(p->out, "    (%zu frame%s left out)\n", left, by_count((int64_t)left, "", "s"));
        all &= left == 0;
        if (chosen.shown[i]) {
            put_frame(p, frame, &c, frame == own);
            render_fan(p, fans, i, c.share ? 10 : 4);
        }
    }
    if (!all) {
        fputs("    (all frames: ", p->out);
        render_command(p, p->options->called, member_text(p->report, "id"), "");
        fputs(")\n", p->out);
    }
    put_stop(p, stack);
    if (hot)
        put_unknown(p);
    free(fans);
    free(chosen.shown);
}
