/* SPDX-License-Identifier: MIT
 *
 * POST /api/v1/reports.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "collector/base/build_date.h"
#include "collector/http/http_private.h"

#define ALL_BODIES_MAX ((size_t)256 << 20)
#define BUSY_SECONDS 5
#define FULL_SECONDS 60
#define CLOCK_SECONDS 60
#define FIRST_BYTES ((size_t)16 << 10)

static const char *header(const struct request *r, const char *name) {
    return MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, name);
}

unsigned http_body_check(struct request *r, size_t max, const char **why) {
    const char *length = header(r, "Content-Length");
    if (length != NULL && strtoull(length, NULL, 10) > max) {
        *why = max == INGEST_BODY_MAX ? "the body has more than 8 MiB" : "the body is too large";
        return MHD_HTTP_CONTENT_TOO_LARGE;
    }
    if (atomic_load(&r->http->body_bytes) > ALL_BODIES_MAX) {
        *why = "too many requests at once";
        return MHD_HTTP_SERVICE_UNAVAILABLE;
    }
    return 0;
}

enum MHD_Result http_receive_start(struct request *r) {
    struct http *h = r->http;
    char key[HTTP_SENTRY_KEY_BYTES];
    r->key = keys_check(h->keys, r->is_symbols ? KEY_ADMIN : KEY_SEND,
                        r->is_sentry ? http_sentry_authorization(r, key) : header(r, "Authorization"));
    if (r->key < 0) {
        atomic_fetch_add(&h->denied, 1);
        return http_refuse(r->connection, MHD_HTTP_UNAUTHORIZED, 0,
                           r->is_symbols ? "a key for administering is needed"
                                         : "a key for sending is needed");
    }
    if (atomic_load(&h->stopping)) {
        return http_refuse(r->connection, MHD_HTTP_SERVICE_UNAVAILABLE, BUSY_SECONDS, "the collector ends");
    }
    if (build_date_is_to_come() &&
        !r->is_symbols) { /* a wrong clock would refuse reports, and give others a wrong date */
        return http_refuse(r->connection, MHD_HTTP_SERVICE_UNAVAILABLE, CLOCK_SECONDS,
                           "the collector's clock is wrong: it is before the day of its build");
    }
    long wait = keys_wait(h->keys, r->key);
    if (wait > 0) {
        atomic_fetch_add(&h->limited, 1);
        return http_refuse(r->connection, MHD_HTTP_TOO_MANY_REQUESTS, wait,
                           "this key sends too many reports");
    }
    const char *why = "";
    unsigned status = http_body_check(r, INGEST_BODY_MAX, &why);
    return status == 0 ? MHD_YES : http_refuse(r->connection, status, status == 503 ? BUSY_SECONDS : 0, why);
}

bool http_body_add(struct request *r, const char *piece, size_t bytes, size_t max) {
    if (r->bytes + bytes > max || atomic_load(&r->http->body_bytes) > ALL_BODIES_MAX) {
        return false;
    }
    if (r->bytes + bytes > r->size) {
        size_t size = r->size == 0 ? FIRST_BYTES : 2 * r->size;
        size = size < r->bytes + bytes ? r->bytes + bytes : size;
        char *body = realloc(r->body, size);
        if (body == NULL) {
            return false;
        }
        atomic_fetch_add(&r->http->body_bytes, size - r->size);
        r->body = body;
        r->size = size;
    }
    memcpy(r->body + r->bytes, piece, bytes);
    r->bytes += bytes;
    r->received += bytes;
    return true;
}

static void drop_body(struct request *r) {
    atomic_fetch_sub(&r->http->body_bytes, r->size);
    free(r->body);
    r->body = NULL;
    r->bytes = r->size = 0;
}

/* On the writer's thread. */
static void stored(struct writer_job *job) {
    struct request *r = (struct request *)((char *)job - offsetof(struct request, job));
    MHD_resume_connection(r->connection);
}

static enum MHD_Result answer(struct request *r) {
    struct http *h = r->http;
    size_t accepted = 0, refused = json_array_size(r->ingest.refused);
    if (r->job.result == STORE_FULL) {
        atomic_fetch_add(&h->full, 1);
        return http_refuse(r->connection, MHD_HTTP_INSUFFICIENT_STORAGE, FULL_SECONDS, "the store is full");
    }
    if (r->job.result == STORE_FAILED) {
        return http_refuse(r->connection, MHD_HTTP_SERVICE_UNAVAILABLE, BUSY_SECONDS, "the store failed");
    }
    json_t *json = ingest_answer(&r->ingest, &accepted);
    r->accepted = accepted;
    atomic_fetch_add(&h->stored, accepted);
    atomic_fetch_add(&h->repeated, r->ingest.count - accepted);
    atomic_fetch_add(&h->refused, refused);
    for (size_t i = 0; i < r->ingest.count; i++) {
        if (r->ingest.rows[i].unnamed_count > 0) {
            symbols_wake(h->symbols);
            break;
        }
    }
    if (r->is_sentry) {
        json_decref(json);
        return http_sentry_answer(r);
    }
    return http_answer_json(r->connection, r->ingest.count == 0 ? MHD_HTTP_BAD_REQUEST : MHD_HTTP_OK, json);
}

static void refuse_later(struct request *r, unsigned status, long retry, const char *why) {
    r->refusal.status = status;
    r->refusal.retry = retry;
    r->refusal.why = why;
}

static unsigned read_body(struct request *r, const char **why) {
    const char *type = header(r, "Content-Type"), *encoding = header(r, "Content-Encoding");
    const char *body = r->body != NULL ? r->body : "";
    bool lines = type != NULL && strstr(type, "ndjson") != NULL;
    return r->is_sentry ? http_sentry_read(r, encoding, why)
                        : ingest_read(encoding, body, r->bytes, lines, r->http->schema, &r->ingest, why);
}

/* The body as rows, and what the key may send of them. True: the writer has them. */
static bool parse(struct request *r) {
    struct http *h = r->http;
    const char *why = "";
    int64_t since_ns = work_pool_cpu_ns();
    unsigned status = read_body(r, &why);
    r->parsed = true;
    drop_body(r);
    size_t sent = status != 0 ? 1 : r->ingest.count + json_array_size(r->ingest.refused);
    keys_spend(h->keys, r->key, sent, work_pool_cpu_ns() - since_ns);
    if (status != 0) {
        refuse_later(r, status, status == 503 ? BUSY_SECONDS : 0, why);
        return false;
    }
    long wait = http_limit_rows(r);
    if (r->ingest.count == 0 && wait > 0) {
        atomic_fetch_add(&h->limited, 1);
        refuse_later(r, MHD_HTTP_TOO_MANY_REQUESTS, wait, "this key sends too many reports of one bug");
    }
    if (r->ingest.count == 0) {
        return false;
    }
    r->job = (struct writer_job){.rows = r->ingest.rows, .count = r->ingest.count, .done = stored};
    if (!writer_add(h->writer, &r->job)) {
        r->job.result = STORE_FAILED;
        return false;
    }
    return true;
}

/* On a thread of the pool, while the connection is suspended. The connection resumes after the reports are
 * stored or refused. */
static void take(struct work_job *job) {
    struct request *r = (struct request *)((char *)job - offsetof(struct request, work));
    if (job->is_late) {
        r->ingest.refused = json_array();
        r->parsed = true;
        refuse_later(r, MHD_HTTP_SERVICE_UNAVAILABLE, BUSY_SECONDS, "too many requests at once");
    }
    if (job->is_late || !parse(r)) {
        MHD_resume_connection(r->connection);
    }
}

static enum MHD_Result start_taking(struct request *r) {
    connection_set(r->deadline, CONNECTION_SERVED);
    r->work.run = take;
    MHD_suspend_connection(r->connection); /* before anyone can resume it */
    if (!work_pool_add(r->http->takers, &r->work)) {
        refuse_later(r, MHD_HTTP_SERVICE_UNAVAILABLE, BUSY_SECONDS, "the collector ends");
        MHD_resume_connection(r->connection);
    }
    return MHD_YES;
}

enum MHD_Result http_receive(struct request *r, const char *piece, size_t *bytes) {
    if (*bytes > 0) {
        if (!http_body_add(r, piece, *bytes, INGEST_BODY_MAX)) {
            return MHD_NO;
        }
        *bytes = 0;
        return MHD_YES;
    }
    if (r->is_symbols) {
        return http_symbols_add(r);
    }
    if (r->refusal.status != 0) {
        return http_refuse(r->connection, r->refusal.status, r->refusal.retry, r->refusal.why);
    }
    return r->parsed ? answer(r) : start_taking(r);
}

void http_receive_end(struct request *r) {
    drop_body(r);
    if (r->parsed) {
        ingest_free(&r->ingest);
    }
}
