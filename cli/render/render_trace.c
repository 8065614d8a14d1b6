/* SPDX-License-Identifier: MIT */
#include "cli/render/render.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/base/sanitize.h"
#include "cli/render/render_parts.h"
#include "symbolizer/regular_file.h"

#define FORMAT "hangdog-trace/1"
#define FILE_BYTES_MAX (16 << 20) /* every row of a table takes some 4 MB */

static int names_a_file(const char *name) {
    size_t n = strlen(name);
    return strchr(name, '/') != NULL || (n > 5 && strcmp(name + n - 5, ".json") == 0);
}

json_t *trace_load(const char *name) {
    struct stat st;
    int fd = names_a_file(name) ? regular_file_open(name, &st) : -1;
    FILE *file = fd >= 0 && st.st_size <= FILE_BYTES_MAX ? fdopen(fd, "r") : NULL;
    json_t *trace = file != NULL ? json_loadf(file, 0, NULL) : NULL; /* json_loadfd reads a byte a call */
    const char *format = json_string_value(json_object_get(trace, "format"));
    if (file != NULL) {
        fclose(file);
    } else if (fd >= 0) {
        close(fd);
    }
    if (format != NULL && strcmp(format, FORMAT) == 0 && json_is_array(json_object_get(trace, "calls"))) {
        return trace;
    }
    json_decref(trace);
    return NULL;
}

/* The members that a table is made of, by its columns. */
struct columns {
    const char *title, *total, *self, *max, *count, *order;
};

static const struct columns whole = {.title = "Functions",
                                     .total = "total_ns",
                                     .self = "self_ns",
                                     .max = "max_ns",
                                     .count = "count",
                                     .order = "total_ns"};
static const struct columns launch = {.title = "Launch",
                                      .total = "launch_total_ns",
                                      .self = "launch_self_ns",
                                      .count = "launch_count",
                                      .order = "launch_self_ns"};

struct row {
    const json_t *call;
    int64_t order;
};

static int compare(const void *a, const void *b) {
    int64_t x = ((const struct row *)a)->order, y = ((const struct row *)b)->order;
    return (x < y) - (x > y);
}

static void put_duration(FILE *out, int64_t ns) {
    char text[RENDER_DURATION_BYTES];
    if (ns >= 0 && ns < 1000000) {
        snprintf(text, sizeof text, "%.1f us", (double)ns / 1000);
    } else {
        render_duration(text, ns);
    }
    fprintf(out, "%11s", text);
}

static void put_row(const struct page *p, const json_t *call, const struct columns *c) {
    char *function = render_function(p, call, 0);
    put_duration(p->out, value_int(call, c->total));
    put_duration(p->out, value_int(call, c->self));
    if (c->max != NULL) {
        put_duration(p->out, value_int(call, c->max));
    }
    fprintf(p->out, "%11" PRId64 "%7" PRId64 "  ", value_int(call, c->count), value_int(call, "depth"));
    sanitize_print(p->out, function);
    fputc('\n', p->out);
    free(function);
}

/* The calls that have that member; an inlined function is no call of its own. */
static size_t pick_rows(const json_t *calls, const struct columns *c, struct row *rows) {
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(calls); i++) {
        const json_t *call = json_array_get(calls, i);
        if (json_is_integer(json_object_get(call, c->order)) &&
            !json_is_true(json_object_get(call, "inlined"))) {
            rows[n++] = (struct row){.call = call, .order = value_int(call, c->order)};
        }
    }
    qsort(rows, n, sizeof *rows, compare);
    return n;
}

static int put_table(const struct page *p, const struct columns *c) {
    const json_t *calls = json_object_get(p->report, "calls");
    struct row *rows = calloc(json_array_size(calls) + 1, sizeof *rows);
    if (rows == NULL) {
        return -1;
    }
    size_t n = pick_rows(calls, c, rows);
    fprintf(p->out, "\n%s%s%s\n%s%11s%11s", p->style.bold, c->title, p->style.end, p->style.dim, "total",
            "self");
    fprintf(p->out, "%*s%11s%7s  function%s\n", c->max != NULL ? 11 : 0, c->max != NULL ? "longest" : "",
            "calls", "depth", p->style.end);
    for (size_t i = 0; i < n; i++) {
        put_row(p, rows[i].call, c);
    }
    free(rows);
    return 0;
}

static void put_head(const struct page *p) {
    char ran[RENDER_DURATION_BYTES], launched[RENDER_DURATION_BYTES];
    int64_t launch_ns = value_int(p->report, "launch_ns"), threads = value_int(p->report, "threads");
    fputs("Trace of ", p->out);
    sanitize_print(p->out, value_text(p->report, "app"));
    fprintf(p->out, " (pid %" PRId64 "): ran for %s, %" PRId64 " %s", value_int(p->report, "pid"),
            render_duration(ran, value_int(p->report, "duration_ns")), threads,
            cli_plural(threads, "thread", "threads"));
    if (launch_ns > 0) {
        fprintf(p->out, ", launched after %s", render_duration(launched, launch_ns));
    }
    fputc('\n', p->out);
}

static void put_rest(const struct page *p) {
    const json_t *below = json_object_get(p->report, "below");
    char limit[RENDER_DURATION_BYTES], self[RENDER_DURATION_BYTES];
    int64_t functions = value_int(below, "functions"), lost = value_int(p->report, "lost");
    if (functions > 0) {
        fprintf(p->out, "\nbelow %s in each call: %" PRId64 " %s, %" PRId64 " calls, %s in all\n",
                render_duration(limit, value_int(p->report, "limit_ns")), functions,
                cli_plural(functions, "row", "rows"), value_int(below, "calls"),
                render_duration(self, value_int(below, "self_ns")));
    }
    if (lost > 0) {
        fprintf(p->out,
                "\n%" PRId64 " calls have no times: the table of functions or of open calls was full\n",
                lost);
    }
}

int render_trace(FILE *out, const json_t *trace, const struct render_options *o) {
    const struct page p = {.out = out, .report = trace, .options = o, .style = render_style(o->colour)};
    put_head(&p);
    if (value_int(trace, "launch_ns") > 0 && put_table(&p, &launch) != 0) {
        return -1;
    }
    if (put_table(&p, &whole) != 0) {
        return -1;
    }
    put_rest(&p);
    return ferror(out) ? -1 : 0;
}
