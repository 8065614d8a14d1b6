/* SPDX-License-Identifier: MIT
 *
 * DELETE of reports, with a key for administering: reports/ID, apps/NAME, users/ID. A thread of the pool
 * erases the reports piece by piece, while the connection waits. The writer works between two pieces.
 */
#include <string.h>

#include "collector/base/log.h"
#include "collector/http/http_private.h"

#define API "/api/v1/"
#define ROWS_OF_A_PIECE 500 /* some 50 ms */
#define LATE_SECONDS 5

static const char *after(const char *url, const char *folder) {
    size_t n = strlen(folder);
    return strncmp(url, folder, n) == 0 && url[n] != '\0' ? url + n : NULL;
}

static bool read_erasure(const char *url, struct store_erasure *what) {
    *what = (struct store_erasure){
        .id = after(url, API "reports/"), .app = after(url, API "apps/"), .user = after(url, API "users/")};
    return what->id != NULL || what->app != NULL || what->user != NULL;
}

bool http_erase_takes(const char *url) {
    struct store_erasure what;
    return read_erasure(url, &what);
}

/* How many went; -1, -2: as store_erase. -1 too where the collector ends before all of them went. */
static long erase_all(struct http *h, const struct store_erasure *what) {
    long erased = 0, piece = 0;
    int64_t at = 0;
    while (at >= 0 && piece >= 0) {
        piece = atomic_load(&h->stopping)
                    ? -1
                    : store_erase(h->store, what, h->sentry_schema, &at, ROWS_OF_A_PIECE);
        erased += piece;
    }
    return piece < 0 ? piece : erased;
}

static enum MHD_Result answer(struct request *r, const struct store_erasure *what, long erased) {
    if (erased == -2) {
        return http_refuse(r->connection, MHD_HTTP_NOT_IMPLEMENTED, 0,
                           "the reports are in ClickHouse: docs/operate.md has its own statements for that");
    }
    if (erased < 0) {
        return http_answer_json(r->connection, MHD_HTTP_OK, NULL);
    }
    if (erased == 0) {
        return http_refuse(r->connection, MHD_HTTP_NOT_FOUND, 0, "there is no such report");
    }
    log_event("erase", "key %lld erases %ld reports of %s", (long long)keys_id(r->http->keys, r->key), erased,
              what->id != NULL    ? "one id"
              : what->app != NULL ? "one app"
                                  : "one user");
    return http_answer_json(r->connection, MHD_HTTP_OK, json_pack("{s:I}", "erased", (json_int_t)erased));
}

/* On a reader, while the connection is suspended. */
static void erase_slowly(struct work_job *job) {
    struct request *r = (struct request *)((char *)job - offsetof(struct request, work));
    struct store_erasure what;
    if (job->is_late || !read_erasure(r->path, &what)) {
        http_refuse(r->connection, MHD_HTTP_SERVICE_UNAVAILABLE, LATE_SECONDS, "too many requests at once");
    } else {
        answer(r, &what, erase_all(r->http, &what));
    }
    MHD_resume_connection(r->connection);
}

enum MHD_Result http_erase(struct request *r) {
    if (r->is_read || r->path == NULL) { /* no answer could be made */
        return MHD_NO;
    }
    r->is_read = true;
    r->work.run = erase_slowly;
    MHD_suspend_connection(r->connection); /* before the reader can resume it */
    if (!work_pool_add(r->http->readers, &r->work)) {
        MHD_resume_connection(r->connection);
    }
    return MHD_YES;
}
