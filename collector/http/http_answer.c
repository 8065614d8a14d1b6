/* SPDX-License-Identifier: MIT
 *
 * Answers, and the headers that each of them has.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/http/http_private.h"
#include "collector/report/row.h"

/* Nothing comes from elsewhere, and no other page has this one in a frame. */
#define POLICY                                                                                      \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " \
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

#define STORE_SECONDS 5   /* Retry-After while the store fails */
#define READERS_SECONDS 2 /* Retry-After while unread answers take too much memory */

/* A larger report is decompressed while its client reads it. */
#define STREAMED_BYTES ((size_t)256 << 10)
#define PIECE_BYTES ((size_t)64 << 10)

/* An answer's text, or the stream that it comes from, until its client has read it. */
struct owned {
    struct connections *all;
    size_t bytes; /* in memory */
    char *text;
    struct row_stream *stream;
};

static void free_owned(void *owned) {
    struct owned *o = owned;
    connections_end_answer(o->all, o->bytes);
    free(o->text);
    row_stream_free(o->stream);
    free(o);
}

/* Takes the text, also where it returns NULL: no memory, or *full. */
static struct MHD_Response *own(struct MHD_Connection *c, char *text, size_t bytes, bool *full) {
    struct connections *all = connection_all(http_deadline(c));
    struct owned *o = text != NULL ? malloc(sizeof *o) : NULL;
    *full = o != NULL && !connections_take_answer(all, bytes);
    if (o == NULL || *full) {
        free(o);
        free(text);
        return NULL;
    }
    *o = (struct owned){.all = all, .bytes = bytes, .text = text};
    struct MHD_Response *response =
        MHD_create_response_from_buffer_with_free_callback_cls(bytes, text, free_owned, o);
    if (response == NULL) {
        free_owned(o);
    }
    return response;
}

/* libmicrohttpd reads a stream from its start to its end. */
static ssize_t read_stream(void *owned, uint64_t at, char *to, size_t most) {
    const struct owned *o = owned;
    ssize_t n = row_stream_read(o->stream, to, most);
    (void)at;
    return n > 0 ? n : n == 0 ? MHD_CONTENT_READER_END_OF_STREAM : MHD_CONTENT_READER_END_WITH_ERROR;
}

/* The same of a stream. */
static struct MHD_Response *own_stream(struct MHD_Connection *c, struct row_stream *stream, bool *full) {
    struct connections *all = connection_all(http_deadline(c));
    struct owned *o = stream != NULL ? malloc(sizeof *o) : NULL;
    size_t bytes = stream != NULL ? row_stream_memory(stream) : 0;
    *full = o != NULL && !connections_take_answer(all, bytes);
    if (o == NULL || *full) {
        free(o);
        row_stream_free(stream);
        return NULL;
    }
    *o = (struct owned){.all = all, .bytes = bytes, .stream = stream};
    struct MHD_Response *response = MHD_create_response_from_callback(
        row_stream_text_bytes(stream), PIECE_BYTES, read_stream, o, free_owned);
    if (response == NULL) {
        free_owned(o);
    }
    return response;
}

static enum MHD_Result send_response(struct MHD_Connection *c, unsigned status, const char *type, long retry,
                                     size_t bytes, struct MHD_Response *response) {
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
    connection_set_answered(http_deadline(c), bytes);
    enum MHD_Result result = MHD_queue_response(c, status, response);
    MHD_destroy_response(response);
    return result;
}

enum MHD_Result http_answer_built_in(struct MHD_Connection *c, const char *type, const void *data,
                                     size_t bytes) {
    return send_response(
        c, MHD_HTTP_OK, type, 0, 0,
        MHD_create_response_from_buffer(bytes, (void *)(uintptr_t)data, MHD_RESPMEM_PERSISTENT));
}

static enum MHD_Result refuse_full(struct MHD_Connection *c) {
    return http_refuse(c, MHD_HTTP_SERVICE_UNAVAILABLE, READERS_SECONDS,
                       "too many large answers at once: other clients have not read theirs");
}

enum MHD_Result http_answer_text(struct MHD_Connection *c, const char *type, const char *name, char *text,
                                 size_t bytes) {
    char value[160];
    bool full;
    struct MHD_Response *response = own(c, text, bytes, &full);
    if (full) {
        return refuse_full(c);
    }
    if (response != NULL && name[0] != '\0') {
        snprintf(value, sizeof value, "attachment; filename=\"%s\"", name);
        MHD_add_response_header(response, "Content-Disposition", value);
    }
    return send_response(c, MHD_HTTP_OK, type, 0, bytes, response);
}

enum MHD_Result http_answer_report(struct MHD_Connection *c, void *body, size_t bytes) {
    size_t text_bytes = 0;
    bool full;
    if (!row_text_size(body, bytes, &text_bytes) || text_bytes < STREAMED_BYTES) {
        char *text = row_text(body, bytes, &text_bytes);
        free(body);
        return text != NULL
                   ? http_answer_text(c, "application/json", "", text, text_bytes)
                   : http_refuse(c, MHD_HTTP_INTERNAL_SERVER_ERROR, 0, "the report is damaged in the store");
    }
    struct row_stream *stream = row_stream_start(body, bytes);
    size_t memory = stream != NULL ? row_stream_memory(stream) : 0;
    struct MHD_Response *response = own_stream(c, stream, &full);
    return full ? refuse_full(c) : send_response(c, MHD_HTTP_OK, "application/json", 0, memory, response);
}

static enum MHD_Result answer_json(struct MHD_Connection *c, unsigned status, long retry, json_t *json) {
    char *text = json_dumps(json, JSON_COMPACT);
    size_t bytes = text != NULL ? strlen(text) : 0;
    bool full;
    json_decref(json);
    struct MHD_Response *response = own(c, text, bytes, &full);
    return full ? refuse_full(c) : send_response(c, status, "application/json", retry, bytes, response);
}

enum MHD_Result http_answer_json(struct MHD_Connection *c, unsigned status, json_t *json) {
    return json != NULL ? answer_json(c, status, 0, json)
                        : http_refuse(c, MHD_HTTP_SERVICE_UNAVAILABLE, STORE_SECONDS, "the store failed");
}

enum MHD_Result http_refuse(struct MHD_Connection *c, unsigned status, long retry, const char *why) {
    return answer_json(c, status, retry, json_pack("{s:s}", "error", why));
}

enum MHD_Result http_refuse_last(struct MHD_Connection *c, const char *why) {
    json_t *json = json_pack("{s:s}", "error", why);
    char *text = json_dumps(json, JSON_COMPACT);
    size_t bytes = text != NULL ? strlen(text) : 0;
    bool full;
    json_decref(json);
    struct MHD_Response *response = own(c, text, bytes, &full);
    if (response != NULL) {
        MHD_add_response_header(response, "Connection", "close");
    }
    return send_response(c, MHD_HTTP_BAD_REQUEST, "application/json", 0, bytes, response);
}
