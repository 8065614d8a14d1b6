/* SPDX-License-Identifier: MIT
 *
 * A stack as columns: share, function, file and line, module and offset. Ordinary code.
 */
#include "cli/base_name.h"
#include "cli/render_parts.h"
#include "cli/reports.h"
#include "cli/script_frames.h"
#include "cli/short_name.h"

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

static char *place_text(const json_t *frame) {
    const char *file = member_text(frame, "file");
    char *text;
    if (file == NULL)
        return strdup("");
    if (member_int(frame, "line") <= 0)
        return strdup(base_name(file));
    return asprintf(&text, "%s:%d", base_name(file), (int)member_int(frame, "line")) < 0 ? NULL : text;
}

static char *module_text(const json_t *report, const json_t *frame) {
    const char *module = report_module_name(report, frame), *offset = member_text(frame, "offset");
    char *text;
    if (script_frame_language(frame) != NULL)
        return strdup(script_frame_language(frame));
    if (module == NULL || offset == NULL)
        return strdup(member_text(frame, "pc") != NULL ? member_text(frame, "pc") : "?");
    return asprintf(&text, "%s+%s", module, offset) < 0 ? NULL : text;
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

/* What of a stack is shown: not the frames of our own that stand between the program and its wait. */
static json_t *shown_frames(const struct page *p, const json_t *frames, size_t *left) {
    json_t *shown = json_array();
    *left = 0;
    for (size_t i = 0; i < json_array_size(frames); i++) {
        json_t *frame = json_array_get(frames, i);
        if (report_frame_is_ours(p->report, frame))
            continue;
        if (p->options->max_frames != 0 && json_array_size(shown) == p->options->max_frames)
            ++*left;
        else
            json_array_append(shown, frame);
    }
    return shown;
}

static struct columns measure(const json_t *frames) {
    struct columns c = {.function = 16};
    for (size_t i = 0; i < json_array_size(frames); i++) {
        const json_t *frame = json_array_get(frames, i);
        widen(&c.function, function_text(frame), FUNCTION_WIDTH_MAX);
        widen(&c.place, place_text(frame), PLACE_WIDTH_MAX);
        c.share |= json_object_get(frame, "share") != NULL;
    }
    return c;
}

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
        put_column(p, "", place_text(frame), c->place);
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
        {"limit", "more frames than are looked at"},
        {"no-answer", "the thread gave no answer"},
        {"exited", "the thread ended"},
    };
    const char *stop = member_text(stack, "stop");
    if (member_int(stack, "cut") > 0)
        fprintf(p->out, "    (%lld frames of the middle were left out)\n",
                (long long)member_int(stack, "cut"));
    for (size_t i = 0; stop != NULL && i < sizeof stops / sizeof stops[0]; i++)
        if (strcmp(stop, stops[i].word) == 0)
            fprintf(p->out, "    (not a whole stack: %s)\n", stops[i].text);
}

void render_stack(const struct page *p, const json_t *stack, bool own_bold) {
    const json_t *own = own_bold ? report_own_frame(p->report) : NULL;
    size_t left;
    json_t *frames = shown_frames(p, json_object_get(stack, "frames"), &left);
    struct columns c = measure(frames);
    for (size_t i = 0; i < json_array_size(frames); i++) {
        const json_t *frame = json_array_get(frames, i);
        put_frame(p, frame, &c, frame == own);
    }
    if (left != 0)
        fprintf(p->out, "    (%zu more)\n", left);
    put_stop(p, stack);
    json_decref(frames);
}
