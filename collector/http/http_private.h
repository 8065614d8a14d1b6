/* SPDX-License-Identifier: MIT
 *
 * Types and functions that the parts of the HTTP server share.
 */
#ifndef COLLECTOR_HTTP_PRIVATE_H
#define COLLECTOR_HTTP_PRIVATE_H

#include <jansson.h>
#include <microhttpd.h>
#include <stdatomic.h>

#include "collector/http/connections.h"
#include "collector/http/http.h"
#include "collector/http/work_pool.h"
#include "collector/keys/group_limit.h"
#include "collector/receive/envelope.h"
#include "collector/receive/ingest.h"
#include "collector/symbols/symbols.h"

struct http {
    struct MHD_Daemon *daemon;
    struct store *store;
    struct writer *writer;
    struct keys *keys;
    struct connections *connections;
    struct group_limit *group_limit;
    struct debug_folder *debug_files;
    struct symbols *symbols;
    json_t *schema, *sentry_schema;
    struct work_pool *takers, *readers; /* of what is sent; of what takes long to show */
    int listener;
    bool tls;
    atomic_bool stopping;
    atomic_size_t body_bytes; /* of all requests that are being received */
    atomic_ullong requests, stored, repeated, refused, denied, limited, full, ignored;
};

/* One request; libmicrohttpd keeps it until the request has ended. */
struct request {
    struct http *http;
    struct MHD_Connection *connection;
    struct connection *deadline;
    char *method, *path; /* for the log; NULL: no memory */
    char *body;
    size_t bytes, size, received, accepted;
    int64_t started_ns;
    int key;
    bool is_ingest, is_sentry, is_symbols, is_change;
    bool parsed;  /* the body, by a taker */
    bool is_read; /* by a reader, which has queued the answer where it could */
    struct work_job work;
    struct {
        unsigned status; /* 0: none */
        long retry;
        const char *why;
    } refusal;
    char build_id[DEBUG_ID_BYTES];
    struct ingest ingest;
    struct writer_job job;
    struct {
        char project[11], id[ENVELOPE_ID_BYTES];
        bool is_event; /* without an envelope */
        size_t ignored;
    } sentry;
};

/* Data that lasts as long as the program. */
enum MHD_Result http_answer_built_in(struct MHD_Connection *c, const char *type, const void *data,
                                     size_t bytes);
/* Takes `text`, which malloc made; NULL: no memory. Status 503 where clients have too many bytes to read.
 * `name`: what the browser calls a file to keep; empty: to show. */
enum MHD_Result http_answer_text(struct MHD_Connection *c, const char *type, const char *name, char *text,
                                 size_t bytes);
/* Takes a report's body, as store_report_body has it. */
enum MHD_Result http_answer_report(struct MHD_Connection *c, void *body, size_t bytes);
/* {"error":"..."}; `retry`: seconds of Retry-After, 0: none. */
enum MHD_Result http_refuse(struct MHD_Connection *c, unsigned status, long retry, const char *why);
/* Status 400, and the connection ends: where its next request starts is not certain. */
enum MHD_Result http_refuse_last(struct MHD_Connection *c, const char *why);
/* Frees the JSON. NULL: the store failed, and the status says so. */
enum MHD_Result http_answer_json(struct MHD_Connection *c, unsigned status, json_t *json);

/* For libmicrohttpd. */
enum MHD_Result http_handle(void *http, struct MHD_Connection *c, const char *url, const char *method,
                            const char *version, const char *piece, size_t *bytes, void **state);
void http_end_request(void *http, struct MHD_Connection *c, void **state,
                      enum MHD_RequestTerminationCode why);
/* NULL: there was no memory for one. */
struct connection *http_deadline(struct MHD_Connection *c);

/* POST /api/v1/reports: called first, then with each piece of the body, then at its end, then once it is
 * stored. */
enum MHD_Result http_receive_start(struct request *r);
enum MHD_Result http_receive(struct request *r, const char *piece, size_t *bytes);
/* Of any body: 0, or the status with which it is refused, by what its head says. */
unsigned http_body_check(struct request *r, size_t max, const char **why);
/* False: it is too large, or there is no memory. Then the connection is closed. */
bool http_body_add(struct request *r, const char *piece, size_t bytes, size_t max);
/* Refuses the rows that this key may not send; the seconds until a bug's reports may come again, 0: any time.
 */
long http_limit_rows(struct request *r);

/* Keys, settings and what people say of a group: POST and DELETE, called as http_receive is. */
bool http_change_takes(const char *method, const char *url);
enum MHD_Result http_change_start(struct request *r);
enum MHD_Result http_change(struct request *r, const char *piece, size_t *bytes);
/* DELETE of reports: one, those of an app, those of a user. A reader does it, a piece after the other. */
bool http_erase_takes(const char *url);
enum MHD_Result http_erase(struct request *r);
/* GET of them; `path`: below /api/v1/. False: it is another address. */
bool http_admin_read(struct http *h, struct MHD_Connection *c, const char *path, int key,
                     enum MHD_Result *result);

/* Frees what the request has. */
void http_receive_end(struct request *r);

/* The same for addresses of Sentry's clients. Check the address. Get the key for keys_check; NULL: none. Turn
 * the body into reports; 0, or an HTTP status and why. Answer after the reports are stored. */
#define HTTP_SENTRY_KEY_BYTES 80
bool http_sentry_takes(struct request *r, const char *url);
const char *http_sentry_authorization(const struct request *r, char text[HTTP_SENTRY_KEY_BYTES]);
unsigned http_sentry_read(struct request *r, const char *encoding, const char **why);
enum MHD_Result http_sentry_answer(struct request *r);

/* The same of debug files: whether this is their address, a piece is stored, how much of a file is here. */
bool http_symbols_takes(struct request *r, const char *url);
enum MHD_Result http_symbols_add(struct request *r);
enum MHD_Result http_symbols_state(struct http *h, struct MHD_Connection *c, const char *id);

/* GET. Whether an address takes long, so that a reader answers it. */
bool http_read_takes_long(const char *url);
enum MHD_Result http_read(struct http *h, struct MHD_Connection *c, const char *url);
enum MHD_Result http_metrics(struct http *h, struct MHD_Connection *c);
/* Below /api/v1/. */
enum MHD_Result http_page(struct http *h, struct MHD_Connection *c, const char *path);
/* A report: as JSON, or the part `text` or `export`, with its format. */
enum MHD_Result http_report(struct http *h, struct MHD_Connection *c, const char *id, const char *part,
                            const char *format);

#endif
