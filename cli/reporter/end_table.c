/* SPDX-License-Identifier: MIT */
#include "cli/reporter/end_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/message.h"
#include "cli/base/output.h"
#include "cli/base/sanitize.h"
#include "cli/render/render.h"
#include "cli/render/table.h"

#define ROWS_MAX 5
#define INDENT 2

static const struct table_column columns[] = {{.title = "LOST"},
                                              {.title = "N", .right = true},
                                              {.title = "WORST", .drops = 2},
                                              {.title = "CAUSE", .drops = 1},
                                              {.title = "FUNCTION", .gives_way = 1, .least = 18},
                                              {.title = "REPORT"},
                                              {0}};

static void add_row(struct table *t, const struct hang_row *row, bool kept) {
    char lost[RENDER_DURATION_BYTES], worst[RENDER_DURATION_BYTES], count[24];
    const char *cells[] = {render_duration(lost, (int64_t)row->total_ns),
                           count,
                           render_duration(worst, (int64_t)row->max_ns),
                           row->cause,
                           row->function,
                           kept ? render_short_id(row->id) : ""};
    snprintf(count, sizeof count, "%llu", (unsigned long long)row->count);
    table_add(t, cells);
}

/* Each line of `table`, behind an indent. */
static void print_indented(const char *table) {
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    for (size_t n; out != NULL && *table != '\0'; table += n) {
        n = strcspn(table, "\n") + 1;
        fprintf(out, "%*s%.*s", INDENT, "", (int)n, table);
    }
    if (out != NULL && fclose(out) == 0) {
        output_write(text, bytes);
    }
    free(text);
}

static void print_rows(const struct reporter *r) {
    unsigned worst[ROWS_MAX], count = hang_table_worst(&r->shared->table, worst, ROWS_MAX);
    struct table table;
    char *text = NULL;
    size_t bytes = 0;
    table_start(&table, columns);
    for (unsigned i = 0; i < count; i++) {
        add_row(&table, &r->shared->table.row[worst[i]], !r->options->not_kept);
    }
    FILE *out = open_memstream(&text, &bytes);
    int width = render_width(stderr);
    if (out != NULL) {
        table_print(out, &table, width > 0 ? width - INDENT : 0, r->colour);
        if (fclose(out) == 0) {
            print_indented(text);
        }
    }
    free(text);
    table_free(&table);
}

void end_table_print(const struct reporter *r, uint64_t ran_ns) {
    char ran[RENDER_DURATION_BYTES], lost[RENDER_DURATION_BYTES], text[512];
    uint64_t hangs = atomic_load(&r->records->hangs.count),
             hang_ns = atomic_load(&r->records->hangs.total_ns);
    double share = ran_ns == 0 ? 0 : hang_ns < ran_ns ? (double)hang_ns / (double)ran_ns : 1;
    unsigned percent =
        (unsigned)(100.0 * share + 0.5); /* of several threads, or of a hostile record: all of it */
    render_duration(ran, (int64_t)ran_ns);
    render_duration(lost, (int64_t)hang_ns);
    snprintf(text, sizeof text, "%.255s ran for %s: %llu hang%s, %s lost (%u%%)%s", r->options->name, ran,
             (unsigned long long)hangs, cli_plural((int64_t)hangs, "", "s"), lost, percent,
             r->shared->table.rows == 0 ? ", without a report" : "");
    message_print(MESSAGE_BOLD, &(struct message_part){text, NULL}, 1);
    if (r->shared->table.rows > 0) {
        print_rows(r);
    }
}
