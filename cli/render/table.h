/* SPDX-License-Identifier: MIT
 *
 * Rows in columns. On a terminal no row wraps: columns give way in their order. One that has given way to its
 * `least` is readable: then those that drop are left out, and only then it loses more.
 */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define TABLE_COLUMNS_MAX 8

struct table_column {
    const char *title;
    bool right;    /* aligned */
    int gives_way; /* 0: never; 1: first; 2: then */
    int least;     /* columns of a terminal that it keeps */
    int drops;     /* in a narrow terminal; 0: never; 1: first */
};

struct table {
    const struct table_column *column; /* the last one has no title */
    size_t columns, rows;
    char **cell; /* row after row; NULL where there was no memory */
    bool dropped[TABLE_COLUMNS_MAX];
};

void table_start(struct table *t, const struct table_column *columns);
/* One text for each column; NULL or empty is a dash. It takes copies. */
void table_add(struct table *t, const char *const *texts);
/* `width` of the terminal; 0: for a pipe, without header, and nothing is cut. */
void table_print(FILE *out, struct table *t, int width, bool colour);
void table_free(struct table *t);

#endif
