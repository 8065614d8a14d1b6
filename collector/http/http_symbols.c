/* SPDX-License-Identifier: MIT
 *
 * GET and POST /api/v1/symbols/BUILD-ID: how much of a debug file is here, and its next piece.
 */
#include <stdlib.h>
#include <string.h>

#include "collector/http/http_private.h"
#include "collector/receive/decompress.h"
#include "collector/report/unnamed.h"

#define BUSY_SECONDS 60

static const char address[] = "/api/v1/symbols/";

static const char *id_of(const char *url) {
    size_t n = sizeof address - 1;
    return strncmp(url, address, n) == 0 && unnamed_is_build_id(url + n) ? url + n : NULL;
}

bool http_symbols_takes(struct request *r, const char *url) {
    const char *id = id_of(url);
    r->is_symbols = id != NULL;
    if (id != NULL) {
        memcpy(r->build_id, id, strlen(id) + 1);
    }
    return r->is_symbols;
}

static json_t *state_as_json(const struct debug_state *state) {
    json_t *out = json_pack("{s:I,s:b}", "bytes", (json_int_t)state->bytes, "complete", state->is_whole);
    if (state->why[0] != '\0') {
        json_object_set_new(out, "set_aside", json_string(state->why));
    }
    return out;
}

enum MHD_Result http_symbols_state(struct http *h, struct MHD_Connection *c, const char *id) {
    if (!unnamed_is_build_id(id)) {
        return http_refuse(c, MHD_HTTP_BAD_REQUEST, 0, "a build-id is lower-case hex");
    }
    struct debug_state state = debug_folder_state(h->debug_files, id);
    return http_answer_json(c, MHD_HTTP_OK, state_as_json(&state));
}

static int64_t number_of(const struct request *r, const char *name) {
    const char *text = MHD_lookup_connection_value(r->connection, MHD_GET_ARGUMENT_KIND, name);
    char *end = NULL;
    long long value = text != NULL ? strtoll(text, &end, 10) : -1;
    return text != NULL && *text != '\0' && *end == '\0' ? value : -1;
}

enum MHD_Result http_symbols_add(struct request *r) {
    struct http *h = r->http;
    char *piece = NULL;
    size_t bytes = 0;
    const char *encoding = MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, "Content-Encoding");
    if (decompress(encoding, r->body != NULL ? r->body : "", r->bytes, INGEST_PLAIN_MAX, &piece, &bytes) !=
        DECOMPRESSED) {
        return http_refuse(r->connection, MHD_HTTP_BAD_REQUEST, 0, "the piece cannot be decompressed");
    }
    enum debug_added added = debug_folder_add(h->debug_files, r->build_id, number_of(r, "offset"),
                                              number_of(r, "size"), piece, bytes);
    free(piece);
    struct debug_state state = debug_folder_state(h->debug_files, r->build_id);
    switch (added) {
    case DEBUG_ADDED:
        if (state.is_whole) {
            symbols_wake(h->symbols);
        }
        return http_answer_json(r->connection, MHD_HTTP_OK, state_as_json(&state));
    case DEBUG_OTHER_OFFSET:
        return http_answer_json(r->connection, MHD_HTTP_CONFLICT, state_as_json(&state));
    case DEBUG_TOO_LARGE:
        return http_refuse(r->connection, MHD_HTTP_CONTENT_TOO_LARGE, 0,
                           "want offset and size; a debug file has at most 4 GiB");
    case DEBUG_FULL:
        return http_refuse(r->connection, MHD_HTTP_INSUFFICIENT_STORAGE, BUSY_SECONDS,
                           "there is no space for more debug files");
    case DEBUG_FAILED:
        break;
    }
    return http_refuse(r->connection, MHD_HTTP_SERVICE_UNAVAILABLE, BUSY_SECONDS,
                       "the debug file cannot be written");
}
