/* SPDX-License-Identifier: MIT
 *
 * Answers, and the headers that each of them has.
 */
#include <stdio.h>
#include <string.h>

#include "collector/http/http_private.h"

/* Nothing comes from elsewhere, and no other page has this one in a frame. */
#define POLICY                                                                                      \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " \
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

#define STORE_SECONDS 5 /* until a store that failed is asked again */

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
    connection_set(http_deadline(c), CONNECTION_ANSWERED);
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
    return json != NULL ? answer_json(c, status, 0, json)
                        : http_refuse(c, MHD_HTTP_SERVICE_UNAVAILABLE, STORE_SECONDS, "the store failed");
}

enum MHD_Result http_refuse(struct MHD_Connection *c, unsigned status, long retry, const char *why) {
    return answer_json(c, status, retry, json_pack("{s:s}", "error", why));
}

enum MHD_Result http_refuse_last(struct MHD_Connection *c, const char *why) {
    json_t *json = json_pack("{s:s}", "error", why);
    char *text = json_dumps(json, JSON_COMPACT);
    struct MHD_Response *response =
        text != NULL ? MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE) : NULL;
    json_decref(json);
    if (response != NULL) {
        MHD_add_response_header(response, "Connection", "close");
    }
    return send_response(c, MHD_HTTP_BAD_REQUEST, "application/json", 0, response);
}
