/* SPDX-License-Identifier: MIT
 *
 * One report as text: in short form, or all parts of it.
 */
#include "cli/render/render_parts.h"

#include <errno.h>

static int end(FILE *out) {
    if (fflush(out) == 0 && ferror(out) == 0) {
        return 0;
    }
    if (errno == 0) {
        errno = EIO;
    }
    return -1;
}

static struct page page_of(FILE *out, const json_t *report, const struct render_options *o) {
    return (struct page){.out = out, .report = report, .options = o, .style = render_style(o->colour)};
}

void render_heading(const struct page *p, const char *text) {
    fprintf(p->out, "\n%s%s%s\n", p->style.bold, text, p->style.end);
}

int render_hang(FILE *out, const json_t *report, const struct render_options *o) {
    const struct page p = page_of(out, report, o);
    if (render_is_kind(report, "session")) {
        render_session(&p);
    } else {
        render_short(&p, true);
    }
    return end(out);
}

static void put_notes(const struct page *p) {
    for (size_t i = 0; i < json_array_size(p->options->notes); i++) {
        render_wrapped(p, p->style.dim, "  ", 4, json_string_value(json_array_get(p->options->notes, i)));
    }
}

int render_report(FILE *out, const json_t *report, const struct render_options *o) {
    struct render_options all = *o;
    all.threads |= render_is_kind(report, "live"); /* such a report consists of threads only */
    const struct page p = page_of(out, report, &all);
    const json_t *hot = json_object_get(report, "hot_stack");
    if (render_is_kind(report, "session")) {
        render_session(&p);
    } else {
        render_short(&p, false);
        if (json_array_size(json_object_get(hot, "frames")) != 0) {
            render_heading(&p, "Stack");
            render_stack(&p, hot, true);
        }
        put_notes(&p);
        render_timeline(&p);
        render_threads(&p);
    }
    render_run(&p);
    render_cost(&p);
    return end(out);
}
