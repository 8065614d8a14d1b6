/* SPDX-License-Identifier: MIT
 * Reports that arrive under load. Each index and each sum of a report costs the write of a page. So a busy
 * store first appends reports to the table `arrived`, which suffices to acknowledge them, and settles
 * thousands in one transaction. A reader settles first, and so sees all reports. The open of the store
 * settles reports that a killed collector has left.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collector/store/sqlite_private.h"

#define BUSY_ROWS 1000 /* in a second */
#define SETTLE_ROWS 4000
#define SETTLE_SECONDS 1

static int64_t now_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

static struct sum *find_arrived(const struct sqlite *s, const char *id) {
    return sums_find(&s->arrived, &(struct sum_key){.texts = {id}});
}

bool sqlite_is_busy(struct sqlite *s, size_t count) {
    const int64_t now = now_seconds();
    if (now != s->second) {
        s->rows_before = now == s->second + 1 ? s->rows_now : 0;
        s->rows_now = 0;
        s->second = now;
    }
    bool is = s->rows_before >= BUSY_ROWS || s->rows_now >= BUSY_ROWS;
    s->rows_now += count;
    return is;
}

bool sqlite_is_settling_due(const struct sqlite *s) {
    return s->arrived.count >= SETTLE_ROWS ||
           (s->arrived_count > 0 && now_seconds() > s->arrived_second + SETTLE_SECONDS);
}

static void join_unnamed(const struct row *row, char *text, size_t size) {
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < row->unnamed_count; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s ", row->unnamed[i]);
    }
}

static void split_unnamed(const char *text, struct row *row) {
    while (*text != '\0' && row->unnamed_count < UNNAMED_BUILDS_MAX) {
        size_t n = strcspn(text, " ");
        snprintf(row->unnamed[row->unnamed_count++], UNNAMED_ID_BYTES, "%.*s", (int)n, text);
        text += n + (text[n] == ' ');
    }
}

/* The row's texts in the order of their columns, each with its size. */
#define ROW_TEXTS 16
struct text_place {
    char *text;
    size_t size;
};

static void texts_of(struct row *row, struct text_place out[ROW_TEXTS]) {
    struct grouping *g = &row->group;
    const struct text_place all[ROW_TEXTS] = {{row->id, sizeof row->id},
                                              {row->repeat_of, sizeof row->repeat_of},
                                              {row->app, sizeof row->app},
                                              {row->version, sizeof row->version},
                                              {row->system, sizeof row->system},
                                              {row->kind, sizeof row->kind},
                                              {row->cause, sizeof row->cause},
                                              {row->who, sizeof row->who},
                                              {row->session, sizeof row->session},
                                              {row->own_fingerprint, sizeof row->own_fingerprint},
                                              {g->fingerprint, sizeof g->fingerprint},
                                              {g->function, sizeof g->function},
                                              {g->place, sizeof g->place},
                                              {g->path, sizeof g->path},
                                              {g->family, sizeof g->family},
                                              {g->frames, sizeof g->frames}};
    memcpy(out, all, sizeof all);
}

enum {
    GROUPED = 1,
    IS_SESSION = 2,
    IS_HANG = 4,
    HANG_FREE = 8,
    BY_OWNER = 16
};

static bool append(struct sqlite *s, struct row *row) {
    struct text_place texts[ROW_TEXTS];
    char unnamed[UNNAMED_BUILDS_MAX * (UNNAMED_ID_BYTES + 1) + 1];
    const int64_t numbers[] = {row->started_ms, row->duration_ms, row->used_ms,
                               (row->grouped ? GROUPED : 0) | (row->is_session ? IS_SESSION : 0) |
                                   (row->is_hang ? IS_HANG : 0) | (row->hang_free ? HANG_FREE : 0) |
                                   (row->group.by_owner ? BY_OWNER : 0)};
    sqlite3_stmt *q = sqlite_statement(s, ADD_ARRIVED);
    if (q == NULL) {
        return false;
    }
    texts_of(row, texts);
    join_unnamed(row, unnamed, sizeof unnamed);
    for (int i = 0; i < ROW_TEXTS; i++) {
        sqlite3_bind_text(q, 1 + i, texts[i].text, -1, SQLITE_STATIC);
    }
    sqlite3_bind_text(q, ROW_TEXTS + 1, unnamed, -1, SQLITE_STATIC);
    for (int i = 0; i < 4; i++) {
        sqlite3_bind_int64(q, ROW_TEXTS + 2 + i, numbers[i]);
    }
    sqlite3_bind_blob64(q, ROW_TEXTS + 6, row->body, row->body_bytes, SQLITE_STATIC);
    sqlite3_bind_text(q, ROW_TEXTS + 7, row->label, -1, SQLITE_STATIC);
    for (int i = 0; i < ORIGINS; i++) {
        sqlite3_bind_text(q, ROW_TEXTS + 8 + i, row->origin[i], -1, SQLITE_STATIC);
    }
    return sqlite_done(q);
}

static bool is_stored(struct sqlite *s, const char *id, bool *failed) {
    sqlite3_stmt *q = sqlite_statement(s, FIND_REPORT);
    int step = SQLITE_ERROR;
    if (q != NULL) {
        sqlite3_bind_text(q, 1, id, -1, SQLITE_STATIC);
        step = sqlite3_step(q);
        sqlite3_reset(q);
    }
    *failed = step != SQLITE_ROW && step != SQLITE_DONE;
    return step == SQLITE_ROW;
}

bool sqlite_append(struct sqlite *s, struct row *row) {
    bool failed = false;
    const struct sum *before = find_arrived(s, row->id);
    bool is_there = (before != NULL && before->is_there) || is_stored(s, row->id, &failed);
    row->outcome = is_there ? ROW_REPEATED : ROW_STORED;
    struct sum *known =
        failed || is_there ? NULL : sums_at(&s->arrived, &(struct sum_key){.texts = {row->id}});
    if (failed || (!is_there && (known == NULL || !append(s, row)))) {
        row->outcome = ROW_PENDING;
        return false;
    }
    if (!is_there) {
        known->is_there = true;
        s->arrived_second = s->arrived_count == 0 ? now_seconds() : s->arrived_second;
        atomic_store(&s->arrived_count, s->arrived_count + 1);
    }
    return true;
}

void sqlite_forget_arrived(struct sqlite *s, struct row *const *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct sum *known = rows[i]->outcome == ROW_STORED ? find_arrived(s, rows[i]->id) : NULL;
        if (known != NULL && known->is_there) {
            known->is_there = false;
            atomic_store(&s->arrived_count, s->arrived_count - 1);
        }
    }
}

static void read_row(sqlite3_stmt *q, struct row *row) {
    struct text_place texts[ROW_TEXTS];
    memset(row, 0, sizeof *row);
    texts_of(row, texts);
    for (int i = 0; i < ROW_TEXTS; i++) {
        snprintf(texts[i].text, texts[i].size, "%s", (const char *)sqlite3_column_text(q, i));
    }
    split_unnamed((const char *)sqlite3_column_text(q, ROW_TEXTS), row);
    row->started_ms = sqlite3_column_int64(q, ROW_TEXTS + 1);
    row->duration_ms = sqlite3_column_int64(q, ROW_TEXTS + 2);
    row->used_ms = sqlite3_column_int64(q, ROW_TEXTS + 3);
    const int64_t flags = sqlite3_column_int64(q, ROW_TEXTS + 4);
    row->grouped = (flags & GROUPED) != 0;
    row->is_session = (flags & IS_SESSION) != 0;
    row->is_hang = (flags & IS_HANG) != 0;
    row->hang_free = (flags & HANG_FREE) != 0;
    row->group.by_owner = (flags & BY_OWNER) != 0;
    /* The column's memory: it is valid until the next step, and the row is added before. */
    row->body = (unsigned char *)(uintptr_t)sqlite3_column_blob(q, ROW_TEXTS + 5);
    row->body_bytes = (size_t)sqlite3_column_bytes(q, ROW_TEXTS + 5);
    snprintf(row->label, sizeof row->label, "%s", (const char *)sqlite3_column_text(q, ROW_TEXTS + 6));
    for (int i = 0; i < ORIGINS; i++) {
        snprintf(row->origin[i], ROW_ORIGIN_BYTES, "%s",
                 (const char *)sqlite3_column_text(q, ROW_TEXTS + 7 + i));
    }
}

static bool add_arrived(struct sqlite *s) {
    struct row *row = malloc(sizeof *row);
    sqlite3_stmt *q = row != NULL ? sqlite_statement(s, ALL_ARRIVED) : NULL;
    int step = SQLITE_ERROR;
    while (q != NULL && (step = sqlite3_step(q)) == SQLITE_ROW) {
        read_row(q, row);
        if (!sqlite_add_row(s, row)) {
            break;
        }
    }
    if (q != NULL) {
        sqlite3_reset(q);
    }
    free(row);
    return step == SQLITE_DONE;
}

bool sqlite_settle_arrived(struct sqlite *s) {
    if (s->arrived_count == 0) {
        sums_clear(&s->arrived); /* the ids of transactions that failed: on a full disk they are many */
        return true;
    }
    bool done = sqlite_run(s->writes, "BEGIN IMMEDIATE") && add_arrived(s) && sqlite_write_sums(s) &&
                sqlite_run(s->writes, "DELETE FROM arrived") && sqlite_run(s->writes, "COMMIT");
    if (done) {
        sums_clear(&s->arrived);
        atomic_store(&s->arrived_count, 0);
    }
    return done;
}

void sqlite_try_to_settle(struct sqlite *s) {
    if (!sqlite_settle_arrived(s)) {
        sqlite_note_error(s);
    }
}

void sqlite_load_arrived(struct sqlite *s) {
    sqlite3_stmt *q = NULL;
    if (sqlite3_prepare_v2(s->writes, "SELECT id FROM arrived", -1, &q, NULL) == SQLITE_OK) {
        while (sqlite3_step(q) == SQLITE_ROW) {
            const char *id = (const char *)sqlite3_column_text(q, 0);
            struct sum *known = sums_at(&s->arrived, &(struct sum_key){.texts = {id}});
            if (known != NULL) {
                known->is_there = true;
            }
            atomic_store(&s->arrived_count, s->arrived_count + 1);
        }
    }
    sqlite3_finalize(q);
    sqlite_try_to_settle(s);
}

void sqlite_settle(void *file) {
    struct sqlite *s = file;
    if (atomic_load(&s->arrived_count) > 0) {
        pthread_mutex_lock(&s->writing);
        sqlite_try_to_settle(s);
        pthread_mutex_unlock(&s->writing);
    }
}

void sqlite_start_reading(struct sqlite *s) {
    sqlite_settle(s);
    pthread_mutex_lock(&s->reading);
}
