/* SPDX-License-Identifier: MIT
 *
 * A query with its values, and its rows as JSON. Any thread that has the connection's lock.
 */
#include <stdarg.h>

#include "collector/store/sqlite_private.h"

static void bind(sqlite3_stmt *q, const char *types, va_list values) {
    for (int i = 0; types[i] != '\0'; i++) {
        if (types[i] == 's') {
            sqlite3_bind_text(q, i + 1, va_arg(values, const char *), -1, SQLITE_TRANSIENT);
        } else {
            sqlite3_bind_int64(q, i + 1, va_arg(values, int64_t));
        }
    }
}

void sqlite_bind(sqlite3_stmt *q, const char *types, ...) {
    va_list values;
    va_start(values, types);
    bind(q, types, values);
    va_end(values);
}

bool sqlite_add_sum(struct sqlite *s, enum statement which, const char *types, ...) {
    va_list values;
    sqlite3_stmt *q = sqlite_statement(s, which);
    if (q == NULL) {
        return false;
    }
    va_start(values, types);
    bind(q, types, values);
    va_end(values);
    return sqlite_done(q);
}

sqlite3_stmt *sqlite_query(struct sqlite *s, const char *sql) {
    sqlite3_stmt *q = NULL;
    return sqlite3_prepare_v2(s->reads, sql, -1, &q, NULL) == SQLITE_OK ? q : NULL;
}

json_t *sqlite_row(sqlite3_stmt *q) {
    json_t *row = json_object();
    for (int i = 0; i < sqlite3_column_count(q); i++) {
        bool text = sqlite3_column_type(q, i) == SQLITE_TEXT;
        json_object_set_new(row, sqlite3_column_name(q, i),
                            text ? json_string((const char *)sqlite3_column_text(q, i))
                                 : json_integer(sqlite3_column_int64(q, i)));
    }
    return row;
}

json_t *sqlite_rows(sqlite3_stmt *q) {
    json_t *rows = json_array();
    while (q != NULL && sqlite3_step(q) == SQLITE_ROW) {
        json_array_append_new(rows, sqlite_row(q));
    }
    sqlite3_finalize(q);
    return rows;
}

json_t *sqlite_select(struct sqlite *s, const char *sql, const char *types, ...) {
    va_list values;
    sqlite3_stmt *q = sqlite_query(s, sql);
    if (q != NULL) {
        va_start(values, types);
        bind(q, types, values);
        va_end(values);
    }
    return sqlite_rows(q);
}
