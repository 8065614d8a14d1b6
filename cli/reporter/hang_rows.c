/* SPDX-License-Identifier: MIT */
#include "cli/reporter/hang_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/output.h"
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

void hang_rows_print(const struct hang_table *hangs, bool kept, bool colour) {
    unsigned worst[ROWS_MAX], count = hang_table_worst(hangs, worst, ROWS_MAX);
    struct table table;
    char *text = NULL;
    size_t bytes = 0;
    table_start(&table, columns);
    for (unsigned i = 0; i < count; i++) {
        add_row(&table, &hangs->row[worst[i]], kept);
    }
    FILE *out = open_memstream(&text, &bytes);
    int width = render_width(stderr);
    if (out != NULL) {
        table_print(out, &table, width > 0 ? width - INDENT : 0, colour);
        if (fclose(out) == 0) {
            print_indented(text);
        }
    }
    free(text);
    table_free(&table);
}
