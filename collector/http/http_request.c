/* SPDX-License-Identifier: MIT
 *
 * One request, from its head to its end.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "collector/base/log.h"
#include "collector/base/monotonic.h"
#include "collector/http/http_private.h"

#define LATE_SECONDS 5

/* A page elsewhere has no key, and no cookie stands for one. This refuses its requests before a key is even
 * looked at: a browser says from where a request comes. */
static bool is_from_elsewhere(struct MHD_Connection *c) {
    const char *origin = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Origin");
    const char *host = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Host");
    if (origin == NULL) {
        return false;
    }
    const char *start = strstr(origin, "://");
    return start == NULL || host == NULL || strcasecmp(start + 3, host) != 0;
}

/* True: JSON or a debug file. Requests that change something need such a type, which a form of a hostile page
 * cannot send. */
static bool is_json(struct MHD_Connection *c) {
    const char *type = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Content-Type");
    return type != NULL && (strncasecmp(type, "application/json", 16) == 0 ||
                            strncasecmp(type, "application/x-ndjson", 20) == 0 ||
                            strncasecmp(type, "application/octet-stream", 24) == 0);
}

struct lengths {
    int lengths, codings;
    bool chunked;
};

static enum MHD_Result count_length(void *lengths, enum MHD_ValueKind kind, const char *name,
                                    const char *value) {
    struct lengths *l = lengths;
    (void)kind;
    if (strcasecmp(name, "Content-Length") == 0) {
        l->lengths++;
    } else if (strcasecmp(name, "Transfer-Encoding") == 0) {
        l->codings++;
        l->chunked = value != NULL && strcasecmp(value, "chunked") == 0;
    }
    return MHD_YES;
}

/* False for two lengths, or a length and chunks, against request smuggling. A proxy in front may use the
 * other length. A body for us would then be a request for the proxy, or the
 * reverse. */
static bool has_one_length(struct MHD_Connection *c) {
    struct lengths l = {0, 0, false};
    MHD_get_connection_values(c, MHD_HEADER_KIND, count_length, &l);
    return l.lengths + l.codings <= 1 && (l.codings == 0 || l.chunked);
}

static enum MHD_Result start_request(struct http *h, struct MHD_Connection *c, const char *method,
                                     const char *url, void **state) {
    struct request *r = calloc(1, sizeof *r);
    if (r == NULL) {
        return MHD_NO;
    }
    *state = r;
    r->http = h;
    r->connection = c;
    r->started_ns = monotonic_ns();
    r->method = strdup(method);
    r->path = strdup(url);
    r->key = -1;
    r->deadline = http_deadline(c);
    connection_set(r->deadline, CONNECTION_SENDS);
    r->is_ingest = strcmp(method, "POST") == 0 && (strcmp(url, "/api/v1/reports") == 0 ||
                                                   http_sentry_takes(r, url) || http_symbols_takes(r, url));
    atomic_fetch_add(&h->requests, 1);
    if (!has_one_length(c)) {
        return http_refuse_last(c, "the length of the body is not certain");
    }
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0 && strncmp(url, "/api/v1/", 8) == 0) {
        if (is_from_elsewhere(c)) {
            return http_refuse(c, MHD_HTTP_FORBIDDEN, 0, "the request comes from another site's page");
        }
        if (strcmp(method, "POST") == 0 && !is_json(c)) {
            return http_refuse(
                c, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, 0,
                "Content-Type: want application/json, application/x-ndjson or application/octet-stream");
        }
    }
    r->is_change = http_change_takes(method, url);
    if (r->is_ingest) {
        return http_receive_start(r);
    }
    if (r->is_change) {
        return http_change_start(r);
    }
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
        return http_refuse(c, MHD_HTTP_METHOD_NOT_ALLOWED, 0, "this address takes GET only");
    }
    return MHD_YES;
}

/* On a reader, while the connection is suspended. */
static void read_slowly(struct work_job *job) {
    struct request *r = (struct request *)((char *)job - offsetof(struct request, work));
    if (job->is_late) {
        http_refuse(r->connection, MHD_HTTP_SERVICE_UNAVAILABLE, LATE_SECONDS, "too many requests at once");
    } else {
        http_read(r->http, r->connection, r->path);
    }
    MHD_resume_connection(r->connection);
}

static enum MHD_Result start_read(struct request *r) {
    if (r->is_read || r->path == NULL) { /* no answer could be made */
        return MHD_NO;
    }
    r->is_read = true;
    r->work.run = read_slowly;
    connection_set(r->deadline, CONNECTION_SERVED);
    MHD_suspend_connection(r->connection); /* before the reader can resume it */
    if (!work_pool_add(r->http->readers, &r->work)) {
        MHD_resume_connection(r->connection);
    }
    return MHD_YES;
}

enum MHD_Result http_handle(void *http, struct MHD_Connection *c, const char *url, const char *method,
                            const char *version, const char *piece, size_t *bytes, void **state) {
    struct http *h = http;
    struct request *r = *state;
    (void)version;
    if (r == NULL) {
        return start_request(h, c, method, url, state);
    }
    if (r->is_ingest) {
        return http_receive(r, piece, bytes);
    }
    if (r->is_change) {
        return http_change(r, piece, bytes);
    }
    if (*bytes > 0) { /* the body of a GET */
        return MHD_NO;
    }
    return http_read_takes_long(url) ? start_read(r) : http_read(h, c, url);
}

static void log_end(const struct request *r) {
    char address[INET6_ADDRSTRLEN] = "";
    const union MHD_ConnectionInfo *from =
        MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const union MHD_ConnectionInfo *status =
        MHD_get_connection_info(r->connection, MHD_CONNECTION_INFO_HTTP_STATUS);
    if (from != NULL && from->client_addr != NULL) {
        const struct sockaddr *any = from->client_addr;
        const void *bytes = any->sa_family == AF_INET6
                                ? (const void *)&((const struct sockaddr_in6 *)(const void *)any)->sin6_addr
                                : (const void *)&((const struct sockaddr_in *)(const void *)any)->sin_addr;
        inet_ntop(any->sa_family, bytes, address, sizeof address);
    }
    log_request(&(struct log_request){.method = r->method != NULL ? r->method : "",
                                      .path = r->path != NULL ? r->path : "",
                                      .address = address,
                                      .status = status != NULL ? status->http_status : 0,
                                      .bytes = r->received,
                                      .reports = r->accepted,
                                      .key = r->key >= 0 ? keys_id(r->http->keys, r->key) : 0,
                                      .took_ns = monotonic_ns() - r->started_ns});
}

void http_end_request(void *http, struct MHD_Connection *c, void **state,
                      enum MHD_RequestTerminationCode why) {
    struct request *r = *state;
    (void)http;
    (void)c;
    (void)why;
    if (r != NULL) {
        log_end(r);
        connection_set(r->deadline, CONNECTION_WAITS);
        http_receive_end(r);
        free(r->method);
        free(r->path);
        free(r);
        *state = NULL;
    }
}
