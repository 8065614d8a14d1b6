/* SPDX-License-Identifier: MIT */
#include "collector/http.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collector/built_in.h"
#include "collector/http_private.h"
#include "collector/sentry/sentry_report.h"

#define THREADS 4
#define CONNECTIONS 2000
#define IDLE_SECONDS 30
#define CONNECTION_BYTES ((size_t)32 << 10)
#define STACK_BYTES ((size_t)8 << 20)
#define PENDING 1024

/* Nothing comes from elsewhere, and no other page has this one in a frame. */
#define POLICY                                                                                      \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " \
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

static enum MHD_Result send_response(struct MHD_Connection *c, unsigned status, const char *type, long retry,
                                     struct MHD_Response *response) {
    static const char *const headers[][2] = {{"Content-Security-Policy", POLICY},
                                             {"X-Content-Type-Options", "nosniff"},
                                             {"Referrer-Policy", "no-referrer"},
                                             {"Cross-Origin-Resource-Policy", "same-origin"},
                                             {"Cache-Control", "no-store"}};
    char seconds[32];
    if (response == NULL) {
        return MHD_NO;
    }
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        MHD_add_response_header(response, headers[i][0], headers[i][1]);
    }
    MHD_add_response_header(response, "Content-Type", type);
    if (retry > 0) {
        snprintf(seconds, sizeof seconds, "%ld", retry);
        MHD_add_response_header(response, "Retry-After", seconds);
        if (status == MHD_HTTP_TOO_MANY_REQUESTS) {
            snprintf(seconds, sizeof seconds, "%ld::key", retry); /* for Sentry's clients: of all kinds */
            MHD_add_response_header(response, "X-Sentry-Rate-Limits", seconds);
        }
    }
    if (status == MHD_HTTP_UNAUTHORIZED) {
        MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
    }
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED) {
        MHD_add_response_header(response, "Allow", "GET, POST");
    }
    enum MHD_Result result = MHD_queue_response(c, status, response);
    MHD_destroy_response(response);
    return result;
}

enum MHD_Result http_answer(struct MHD_Connection *c, unsigned status, const char *type, const void *data,
                            size_t bytes) {
    return send_response(
        c, status, type, 0,
        MHD_create_response_from_buffer(bytes, (void *)(uintptr_t)data, MHD_RESPMEM_MUST_COPY));
}

enum MHD_Result http_answer_file(struct MHD_Connection *c, const char *type, const char *name,
                                 const void *data, size_t bytes) {
    char value[160];
    struct MHD_Response *response =
        MHD_create_response_from_buffer(bytes, (void *)(uintptr_t)data, MHD_RESPMEM_MUST_COPY);
    if (response != NULL && name[0] != '\0') {
        snprintf(value, sizeof value, "attachment; filename=\"%s\"", name);
        MHD_add_response_header(response, "Content-Disposition", value);
    }
    return send_response(c, MHD_HTTP_OK, type, 0, response);
}

static enum MHD_Result answer_json(struct MHD_Connection *c, unsigned status, long retry, json_t *json) {
    char *text = json_dumps(json, JSON_COMPACT);
    json_decref(json);
    if (text == NULL) {
        return MHD_NO;
    }
    return send_response(c, status, "application/json", retry,
                         MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE));
}

enum MHD_Result http_answer_json(struct MHD_Connection *c, unsigned status, json_t *json) {
    return answer_json(c, status, 0, json);
}

enum MHD_Result http_refuse(struct MHD_Connection *c, unsigned status, long retry, const char *why) {
    return answer_json(c, status, retry, json_pack("{s:s}", "error", why));
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
    r->is_ingest =
        strcmp(method, "POST") == 0 && (strcmp(url, "/api/v1/reports") == 0 || http_sentry_takes(r, url));
    atomic_fetch_add(&h->requests, 1);
    if (r->is_ingest) {
        return http_receive_start(r);
    }
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
        return http_refuse(c, MHD_HTTP_METHOD_NOT_ALLOWED, 0, "this address takes GET only");
    }
    return MHD_YES;
}

static enum MHD_Result handle(void *http, struct MHD_Connection *c, const char *url, const char *method,
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
    if (*bytes > 0) { /* the body of a GET */
        return MHD_NO;
    }
    return http_read(h, c, url);
}

static void end_request(void *http, struct MHD_Connection *c, void **state,
                        enum MHD_RequestTerminationCode why) {
    (void)http;
    (void)c;
    (void)why;
    if (*state != NULL) {
        http_receive_end(*state);
        free(*state);
        *state = NULL;
    }
}

/* "127.0.0.1:8437" or "[::1]:8437": the socket, or -1 and why. */
static int listen_at(const char *listen_to, struct problem *why) {
    char host[128];
    const char *colon = strrchr(listen_to, ':');
    size_t length = colon != NULL ? (size_t)(colon - listen_to) : 0;
    bool bracketed = length >= 2 && listen_to[0] == '[' && colon[-1] == ']';
    snprintf(host, sizeof host, "%.*s", (int)(bracketed ? length - 2 : length), listen_to + bracketed);
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM}, *found;
    if (colon == NULL || length == 0 || length >= sizeof host ||
        getaddrinfo(host, colon + 1, &hints, &found) != 0) {
        error_set(why, "cannot listen at '%.200s': want ADDR:PORT, as 127.0.0.1:8437", listen_to);
        return -1;
    }
    const int on = 1;
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(fd, found->ai_addr, found->ai_addrlen) != 0 || listen(fd, PENDING) != 0) {
        error_set(why, "cannot listen at %.200s: %s", listen_to, strerror(errno));
        if (fd >= 0) {
            close(fd);
        }
        fd = -1;
    }
    freeaddrinfo(found);
    return fd;
}

static uint16_t port_of(int fd) {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } at = {.v6 = {0}};
    socklen_t bytes = sizeof at;
    if (getsockname(fd, &at.any, &bytes) != 0) {
        return 0;
    }
    return ntohs(at.any.sa_family == AF_INET6 ? at.v6.sin6_port : at.v4.sin_port);
}

struct http *http_start(const char *listen_to, struct store *store, struct writer *writer, struct keys *keys,
                        uint16_t *port, struct problem *why) {
    struct http *h = calloc(1, sizeof *h);
    if (h == NULL || (h->schema = built_in_schema()) == NULL ||
        (h->sentry_schema = sentry_report_schema(h->schema)) == NULL) {
        error_set(why, "cannot start: out of memory");
        free(h);
        return NULL;
    }
    h->store = store;
    h->writer = writer;
    h->keys = keys;
    h->listener = listen_at(listen_to, why);
    if (h->listener < 0) {
        json_decref(h->schema);
        json_decref(h->sentry_schema);
        free(h);
        return NULL;
    }
    *port = port_of(h->listener);
    h->daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC, 0, NULL, NULL, handle, h,
        MHD_OPTION_LISTEN_SOCKET, h->listener, MHD_OPTION_NOTIFY_COMPLETED, end_request, h,
        MHD_OPTION_THREAD_POOL_SIZE, (unsigned)THREADS, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        CONNECTION_BYTES, MHD_OPTION_THREAD_STACK_SIZE, STACK_BYTES, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_END);
    if (h->daemon == NULL) {
        error_set(why, "cannot start the server: %s", strerror(errno));
        close(h->listener);
        json_decref(h->schema);
        json_decref(h->sentry_schema);
        free(h);
        return NULL;
    }
    return h;
}

void http_stop_listening(struct http *h) {
    MHD_quiesce_daemon(h->daemon);
}

void http_stop(struct http *h) {
    MHD_stop_daemon(h->daemon);
    close(h->listener);
    json_decref(h->schema);
    json_decref(h->sentry_schema);
    free(h);
}
