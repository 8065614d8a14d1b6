/* SPDX-License-Identifier: MIT */
#include "cli/render/table.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/sanitize.h"
#include "cli/base/terminal.h"
#include "cli/render/short_name.h"

#define GAP 2   /* between columns */
#define TURNS 2 /* in which columns give way */
#define LEAST 3 /* columns of what gives way */

void table_start(struct table *t, const struct table_column *columns) {
    memset(t, 0, sizeof *t);
    t->column = columns;
    while (columns[t->columns].title != NULL) {
        t->columns++;
    }
}

void table_add(struct table *t, const char *const *texts) {
    char **more = realloc(t->cell, (t->rows + 1) * t->columns * sizeof *more);
    if (more == NULL) {
        return;
    }
    t->cell = more;
    for (size_t i = 0; i < t->columns; i++) {
        const char *text = texts[i] != NULL && texts[i][0] != '\0' ? texts[i] : "-";
        more[t->rows * t->columns + i] = strdup(text);
    }
    t->rows++;
}

void table_free(struct table *t) {
    for (size_t i = 0; i < t->rows * t->columns; i++) {
        free(t->cell[i]);
    }
    free(t->cell);
}

static const char *cell_of(const struct table *t, size_t row, size_t column) {
    const char *text = t->cell[row * t->columns + column];
    return text != NULL ? text : "-";
}

/* Sets the width that each column needs. Returns the sum with gaps. */
static int measure_whole(const struct table *t, bool titles, int width[TABLE_COLUMNS_MAX]) {
    int all = -GAP;
    for (size_t c = 0; c < t->columns; c++) {
        width[c] = titles ? name_width(t->column[c].title) : 0;
        for (size_t r = 0; r < t->rows; r++) {
            int n = name_width(cell_of(t, r, c));
            width[c] = n > width[c] ? n : width[c];
        }
        width[c] = t->dropped[c] ? 0 : width[c];
        all += t->dropped[c] ? 0 : width[c] + GAP;
    }
    return all;
}

/* Narrows columns with `gives_way` until the table fits, down to their least width; with `most`, down to a
 * few characters. */
static int give_way(const struct table *t, int terminal, bool most, int all, int width[TABLE_COLUMNS_MAX]) {
    for (int turn = 1; turn <= TURNS; turn++) {
        for (size_t c = 0; c < t->columns; c++) {
            int spare = width[c] - (most ? LEAST : t->column[c].least);
            int less = all - terminal < spare ? all - terminal : spare;
            if (t->column[c].gives_way == turn && less > 0) {
                width[c] -= less;
                all -= less;
            }
        }
    }
    return all;
}

/* False: none is left that may. */
static bool drop_column(struct table *t) {
    size_t next = t->columns;
    for (size_t c = 0; c < t->columns; c++) {
        bool may = t->column[c].drops != 0 && !t->dropped[c];
        if (may && (next == t->columns || t->column[c].drops < t->column[next].drops)) {
            next = c;
        }
    }
    if (next < t->columns) {
        t->dropped[next] = true;
    }
    return next < t->columns;
}

static void measure(struct table *t, int terminal, int width[TABLE_COLUMNS_MAX]) {
    int all = measure_whole(t, terminal > 0, width);
    while (terminal > 0 && (all = give_way(t, terminal, false, all, width)) > terminal && drop_column(t)) {
        all = measure_whole(t, true, width);
    }
    if (terminal > 0) {
        give_way(t, terminal, true, all, width);
    }
}

/* "function (file.c:12)": the function loses parameters and namespaces first. */
static char *shortened(const char *text, int width) {
    const char *place = strrchr(text, '(');
    bool has_place = place != NULL && place > text && place[-1] == ' ' && strchr(place, ':') != NULL;
    size_t n = has_place ? (size_t)(place - text - 1) : strlen(text);
    char *name = strndup(text, n), *all = NULL;
    int rest = has_place ? name_width(place) + 1 : 0;
    char *shorter = name != NULL ? short_name(name, width > rest ? width - rest : 1) : NULL;
    free(name);
    if (shorter == NULL || asprintf(&all, "%s%s", shorter, has_place ? text + n : "") < 0) {
        all = NULL;
    }
    free(shorter);
    return all;
}

/* At most `width` columns; the last one is an ellipsis where something is cut. The caller frees. */
static char *cut_to(const char *text, int width) {
    char *cut = name_width(text) > width ? shortened(text, width) : strdup(text), *all = NULL;
    int used = 0;
    if (cut == NULL || name_width(cut) <= width) {
        return cut;
    }
    for (char *at = cut; *at != '\0'; at++) {
        bool starts = ((unsigned char)*at & 0xc0) != 0x80;
        if (starts && used++ == width - 1) {
            *at = '\0';
            break;
        }
    }
    if (asprintf(&all, "%s%s", cut, terminal_ellipsis()) < 0) {
        all = NULL;
    }
    free(cut);
    return all;
}

/* A name that lost parameters may leave columns free. */
static void take_back(const struct table *t, int width[TABLE_COLUMNS_MAX]) {
    for (size_t c = 0; c < t->columns; c++) {
        int most = name_width(t->column[c].title);
        for (size_t r = 0; r < t->rows && t->column[c].gives_way != 0 && most < width[c]; r++) {
            char *cut = cut_to(cell_of(t, r, c), width[c]);
            int n = cut != NULL ? name_width(cut) : 0;
            most = n > most ? n : most;
            free(cut);
        }
        width[c] = t->column[c].gives_way != 0 && most < width[c] ? most : width[c];
    }
}

/* The last column has no spaces behind it. */
static void print_cell(FILE *out, const struct table *t, size_t column, const char *text, int width) {
    if (t->dropped[column]) {
        return;
    }
    char *cut = cut_to(text, width);
    int pad = cut != NULL ? width - name_width(cut) : 0;
    bool last = column + 1 == t->columns;
    if (t->column[column].right) {
        fprintf(out, "%*s", pad, "");
    }
    sanitize_print(out, cut);
    free(cut);
    if (!t->column[column].right && !last) {
        fprintf(out, "%*s", pad, "");
    }
    fprintf(out, "%*s", last ? 0 : GAP, "");
}

void table_print(FILE *out, struct table *t, int width, bool colour) {
    int widths[TABLE_COLUMNS_MAX] = {0};
    measure(t, width, widths);
    if (width > 0) {
        take_back(t, widths);
    }
    if (width > 0 && t->rows > 0) {
        fputs(colour ? "\033[2m" : "", out);
        for (size_t c = 0; c < t->columns; c++) {
            print_cell(out, t, c, t->column[c].title, widths[c]);
        }
        fputs(colour ? "\033[0m\n" : "\n", out);
    }
    for (size_t r = 0; r < t->rows; r++) {
        for (size_t c = 0; c < t->columns; c++) {
            print_cell(out, t, c, cell_of(t, r, c), widths[c]);
        }
        fputc('\n', out);
    }
}
