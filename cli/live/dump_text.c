/* SPDX-License-Identifier: MIT
 *
 * A thread is a line, and its own functions below it. Ordinary code.
 */
#include "cli/live/dump_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/live/dump_groups.h"
#include "cli/live/dump_tasks.h"

struct dump_page {
    struct page page;
    size_t *hidden; /* frames that the text leaves out */
};

static void put_groups(const struct dump_page *p) {
    struct dump_groups groups = {.page = &p->page, .hidden = p->hidden};
    dump_groups_put(&groups, json_object_get(p->page.report, "threads"));
}

char *dump_text_ring(const json_t *ring) {
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    if (out == NULL) {
        return NULL;
    }
    fputs("deadlock: ", out);
    for (size_t i = 0; i < json_array_size(ring); i++) {
        fprintf(out, "%" JSON_INTEGER_FORMAT " -> ", json_integer_value(json_array_get(ring, i)));
    }
    fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(json_array_get(ring, 0)));
    return fclose(out) == 0 ? text : NULL;
}

static void put_ring(const struct dump_page *p, const json_t *ring) {
    char *text = dump_text_ring(ring);
    fprintf(p->page.out, "%s%s%s\n", p->page.style.alarm, text != NULL ? text : "deadlock",
            p->page.style.end);
    free(text);
}

static void put_head(const struct dump_page *p, size_t threads) {
    const json_t *app = json_object_get(p->page.report, "app");
    char when[RENDER_TIME_BYTES];
    fputs(p->page.style.bold, p->page.out);
    sanitize_print(p->page.out, value_text(app, "name"));
    fprintf(p->page.out, "[%" PRId64 "], %zu thread%s, %s%s\n", value_int(app, "pid"), threads,
            cli_plural((int64_t)threads, "", "s"),
            render_clock(when, value_text(p->page.report, "started_at")), p->page.style.end);
}

/* Prints how long threads were stopped, and what the text leaves out. */
static void put_hidden(const struct dump_page *p) {
    double pause_us = (double)value_int(json_object_get(p->page.report, "monitor"), "pause_total_ns") / 1e3;
    if (pause_us > 0) {
        fprintf(p->page.out, "%s(stopped running threads for %.0f us in all)%s\n", p->page.style.dim,
                pause_us, p->page.style.end);
    }
    int64_t own = value_int(p->page.report, "threads_left_out");
    if (own != 0) {
        fprintf(p->page.out, "%s(%" PRId64 " thread%s of Hangdog not shown)%s\n", p->page.style.dim, own,
                cli_plural(own, "", "s"), p->page.style.end);
    }
    if (*p->hidden != 0) {
        fputs(p->page.style.dim, p->page.out);
        render_hidden(&p->page, *p->hidden, "");
        fprintf(p->page.out, "%s\n", p->page.style.end);
    }
}

int dump_text(FILE *out, const json_t *report, const struct render_options *o) {
    size_t hidden = 0;
    struct dump_page p = {
        .page = {.out = out, .report = report, .options = o, .style = render_style(o->colour)},
        .hidden = &hidden};
    const json_t *threads = json_object_get(report, "threads"), *rings = json_object_get(report, "deadlocks");
    put_head(&p, json_array_size(threads));
    put_groups(&p);
    dump_tasks(&p.page, &hidden);
    for (size_t i = 0; i < json_array_size(rings); i++) {
        put_ring(&p, json_array_get(rings, i));
    }
    put_hidden(&p);
    for (size_t i = 0; i < json_array_size(o->notes); i++) {
        fputs(p.page.style.dim, out);
        sanitize_print(out, json_string_value(json_array_get(o->notes, i)));
        fprintf(out, "%s\n", p.page.style.end);
    }
    return fflush(out) == 0 && !ferror(out) ? 0 : -1;
}
