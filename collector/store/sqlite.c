/* SPDX-License-Identifier: MIT */
#include "collector/store/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/store/sqlite_private.h"

#define PAGE_BYTES 4096
#define BUSY_MS 5000

bool sqlite_run(sqlite3 *db, const char *sql) {
    return sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

int64_t sqlite_number(sqlite3 *db, const char *sql) {
    sqlite3_stmt *q = NULL;
    int64_t number = -1;
    if (sqlite3_prepare_v2(db, sql, -1, &q, NULL) == SQLITE_OK && sqlite3_step(q) == SQLITE_ROW) {
        number = sqlite3_column_int64(q, 0);
    }
    sqlite3_finalize(q);
    return number;
}

/* The file has paths and names of users' programs: others of this machine do not read it. */
static bool make_file(const char *path, struct problem *why) {
    struct stat st;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        error_set(why, "cannot open the store %s: %s", path, fd < 0 ? strerror(errno) : "no regular file");
        if (fd >= 0) {
            close(fd);
        }
        return false;
    }
    close(fd);
    return true;
}

static bool set_up(struct sqlite *s, long limit_mib, struct problem *why, const char *path) {
    char limit[64];
    snprintf(limit, sizeof limit, "PRAGMA max_page_count = %lld", limit_mib * (1024LL * 1024 / PAGE_BYTES));
    sqlite3_busy_timeout(s->writes, BUSY_MS);
    sqlite3_busy_timeout(s->reads, BUSY_MS);
    /* Only a file without tables can learn to shrink. FULL: each commit waits for the disk, so that an
     * acknowledged report survives a loss of power. */
    bool done = sqlite_run(s->writes, "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;"
                                      " PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 33554432;"
                                      " PRAGMA cache_size = -65536;");
    sqlite3_wal_autocheckpoint(s->writes, WAL_PAGES);
    if (done && !sqlite_tables_renew(s->writes, path, why)) {
        return false;
    }
    if (!done || (limit_mib > 0 && !sqlite_run(s->writes, limit)) ||
        !sqlite_run(s->reads, "PRAGMA query_only = 1; PRAGMA cache_size = -32768")) {
        error_set(why, "cannot use the store %s: %s", path, sqlite3_errmsg(s->writes));
        return false;
    }
    sqlite_load_arrived(s);
    return true;
}

struct sqlite *sqlite_open(const char *path, long limit_mib, struct problem *why) {
    if (!make_file(path, why)) {
        return NULL;
    }
    struct sqlite *s = calloc(1, sizeof *s);
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
    if (s == NULL || sqlite3_open_v2(path, &s->writes, flags, NULL) != SQLITE_OK ||
        sqlite3_open_v2(path, &s->reads, flags, NULL) != SQLITE_OK) {
        error_set(why, "cannot open the store %s: %s", path,
                  s != NULL ? sqlite3_errmsg(s->reads != NULL ? s->reads : s->writes) : "out of memory");
        sqlite_close(s);
        return NULL;
    }
    pthread_mutex_init(&s->writing, NULL);
    pthread_mutex_init(&s->reading, NULL);
    if (!set_up(s, limit_mib, why, path)) {
        sqlite_close(s);
        return NULL;
    }
    return s;
}

void sqlite_close(void *file) {
    struct sqlite *s = file;
    if (s == NULL) {
        return;
    }
    sqlite_settle(s);
    for (size_t i = 0; i < STATEMENTS; i++) {
        sqlite3_finalize(s->statement[i]);
    }
    sums_free(&s->sums);
    sums_free(&s->arrived);
    sqlite3_close(s->reads);
    sqlite3_close(s->writes);
    free(s);
}

const char *sqlite_error(const void *file) {
    return ((const struct sqlite *)file)->error;
}

const struct store_backend sqlite_backend = {
    .close = sqlite_close,
    .add = sqlite_add,
    .remove_old = sqlite_remove_old,
    .about_reports = sqlite_about_reports,
    .settle = sqlite_settle,
    .regroup = sqlite_regroup,
    .replace = sqlite_replace,
    .erase = sqlite_erase,
    .unnamed = sqlite_unnamed,
    .end_unnamed = sqlite_end_unnamed,
    .error = sqlite_error,
    .overview = sqlite_overview,
    .groups = sqlite_groups,
    .versions = sqlite_versions,
    .origins = sqlite_origins,
    .group = sqlite_group,
    .kinds = sqlite_kinds,
    .compare = sqlite_compare,
    .search = sqlite_search,
    .counts = sqlite_counts,
    .reports = sqlite_reports,
    .report_body = sqlite_report_body,
    .each_report = sqlite_each_report,
    .find_regressed = sqlite_find_regressed,
};
