/* SPDX-License-Identifier: MIT */
#include "collector/http/http.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "cli/reader/frame_origin.h"
#include "collector/base/built_in.h"
#include "collector/base/monotonic.h"
#include "collector/http/http_private.h"
#include "collector/http/tls.h"
#include "collector/sentry/sentry_report.h"

#define THREADS 4
#define TAKERS_MAX 8
#define READERS 2
#define CONNECTION_BYTES ((size_t)32 << 10)
#define STACK_BYTES ((size_t)8 << 20)
#define DEBUG_FILES_MIB (32L << 10)
#define OTHER_FILES 256 /* besides those of connections */
#define CIPHERS "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

/* The data of a connection. */
struct socket {
    struct connection *deadline;
    struct tls_start tls;
};

struct connection *http_deadline(struct MHD_Connection *c) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    const struct socket *s = info != NULL ? info->socket_context : NULL;
    return s != NULL ? s->deadline : NULL;
}

static void begin(struct http *h, struct MHD_Connection *c, void **context) {
    const union MHD_ConnectionInfo *fd = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
    const union MHD_ConnectionInfo *from = MHD_get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const union MHD_ConnectionInfo *tls = MHD_get_connection_info(c, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    struct socket *s = calloc(1, sizeof *s);
    *context = s;
    if (s == NULL || fd == NULL) {
        return;
    }
    s->deadline = connection_begin(h->connections, fd->connect_fd, from != NULL ? from->client_addr : NULL);
    if (h->tls && tls != NULL && tls->tls_session != NULL) {
        tls_watch_start(&s->tls, tls->tls_session, fd->connect_fd);
    }
}

static void change(void *http, struct MHD_Connection *c, void **context,
                   enum MHD_ConnectionNotificationCode what) {
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        begin(http, c, context);
        return;
    }
    struct socket *s = *context;
    if (s != NULL) {
        connection_end(s->deadline);
        free(s);
        *context = NULL;
    }
}

/* As many files as connections need, where that is allowed. */
static void raise_file_limit(long connections) {
    struct rlimit files;
    rlim_t wanted = (rlim_t)connections + OTHER_FILES;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < wanted) {
        files.rlim_cur = files.rlim_max < wanted ? files.rlim_max : wanted;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

static struct MHD_Daemon *start_daemon(struct http *h, const struct http_options *o) {
    const struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_CERT_CALLBACK2, 0, (void *)(uintptr_t)tls_give},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)(uintptr_t)CIPHERS},
        {MHD_OPTION_END, 0, NULL},
    };
    const struct MHD_OptionItem plain[] = {{MHD_OPTION_END, 0, NULL}};
    unsigned patience = (unsigned)((o->patience_ns + MONOTONIC_S - 1) / MONOTONIC_S);
    return MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC | (o->tls ? MHD_USE_TLS : 0),
        0, NULL, NULL, http_handle, h, MHD_OPTION_LISTEN_SOCKET, h->listener, MHD_OPTION_NOTIFY_COMPLETED,
        http_end_request, h, MHD_OPTION_NOTIFY_CONNECTION, change, h, MHD_OPTION_THREAD_POOL_SIZE,
        (unsigned)THREADS, MHD_OPTION_CONNECTION_LIMIT, (unsigned)o->connections,
        MHD_OPTION_CONNECTION_TIMEOUT, patience, MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_BYTES,
        MHD_OPTION_THREAD_STACK_SIZE, STACK_BYTES, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_ARRAY,
        o->tls ? tls : plain, MHD_OPTION_END);
}

static bool start_work(struct http *h) {
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    h->takers = work_pool_start(cpus < 2 ? 2 : cpus < TAKERS_MAX ? (unsigned)cpus : TAKERS_MAX);
    h->readers = work_pool_start(READERS);
    return h->takers != NULL && h->readers != NULL;
}

static void free_http(struct http *h) {
    work_pool_free(h->takers);
    work_pool_free(h->readers);
    close(h->listener);
    connections_stop(h->connections);
    group_limit_free(h->group_limit);
    symbols_stop(h->symbols);
    debug_folder_close(h->debug_files);
    json_decref(h->schema);
    json_decref(h->sentry_schema);
    free(h);
}

struct http *http_start(const struct http_options *o, struct store *store, struct writer *writer,
                        struct keys *keys, struct problem *why) {
    struct http *h = calloc(1, sizeof *h);
    if (h == NULL) {
        close(o->listener);
        error_set(why, "cannot start: out of memory");
        return NULL;
    }
    frame_origin_set_elsewhere();
    h->store = store;
    h->writer = writer;
    h->keys = keys;
    h->listener = o->listener;
    h->tls = o->tls;
    h->schema = built_in_schema();
    h->sentry_schema = h->schema != NULL ? sentry_report_schema(h->schema) : NULL;
    h->debug_files = debug_folder_open(o->symbols, DEBUG_FILES_MIB);
    h->symbols = h->sentry_schema != NULL && h->debug_files != NULL
                     ? symbols_start(store, h->debug_files, h->sentry_schema)
                     : NULL;
    h->connections = connections_start(&(struct connection_limits){
        .patience_ns = o->patience_ns, .all = o->connections, .per_address = o->per_address});
    h->group_limit = group_limit_new();
    if (h->symbols == NULL || h->connections == NULL || h->group_limit == NULL || !start_work(h)) {
        error_set(why, "cannot start: out of memory");
        free_http(h);
        return NULL;
    }
    raise_file_limit(o->connections);
    h->daemon = start_daemon(h, o);
    if (h->daemon == NULL) {
        error_set(why, "cannot start the server: %s", strerror(errno));
        free_http(h);
        return NULL;
    }
    return h;
}

void http_stop_listening(struct http *h, int seconds) {
    const struct timespec step = {.tv_nsec = 10000000};
    int64_t end = monotonic_ns() + seconds * MONOTONIC_S;
    atomic_store(&h->stopping, true);
    MHD_quiesce_daemon(h->daemon);
    while (connections_at_work(h->connections) > 0 && monotonic_ns() < end) {
        nanosleep(&step, NULL);
    }
    work_pool_stop(h->takers); /* before the writer ends, to which they give rows */
    work_pool_stop(h->readers);
}

void http_stop(struct http *h) {
    MHD_stop_daemon(h->daemon);
    free_http(h);
}
