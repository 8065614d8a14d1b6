/* SPDX-License-Identifier: MIT
 *
 * POST /api/PROJECT/envelope/ and /api/PROJECT/store/, as Sentry's clients send.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/http/http_private.h"

#define KEY_CHARS 63

bool http_sentry_takes(struct request *r, const char *url) {
    int end = 0;
    char what[9] = "";
    if (sscanf(url, "/api/%10[0-9]/%8[a-z]%n", r->sentry.project, what, &end) != 2) {
        return false;
    }
    url += end;
    url += *url == '/';
    r->sentry.is_event = strcmp(what, "store") == 0;
    r->is_sentry = *url == '\0' && (r->sentry.is_event || strcmp(what, "envelope") == 0);
    return r->is_sentry;
}

/* The public key of the client's DSN: a key for sending. */
const char *http_sentry_authorization(const struct request *r, char text[HTTP_SENTRY_KEY_BYTES]) {
    static const char member[] = "sentry_key=";
    const char *key = MHD_lookup_connection_value(r->connection, MHD_GET_ARGUMENT_KIND, "sentry_key");
    const char *header = MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, "X-Sentry-Auth");
    if (key == NULL && header != NULL) {
        key = strstr(header, member);
        key = key != NULL ? key + sizeof member - 1 : NULL;
    }
    if (key == NULL) {
        return NULL;
    }
    size_t n = strcspn(key, ", ");
    snprintf(text, HTTP_SENTRY_KEY_BYTES, "Bearer %.*s", (int)(n < KEY_CHARS ? n : KEY_CHARS), key);
    return text;
}

unsigned http_sentry_read(struct request *r, const char *encoding, const char **why) {
    struct envelope envelope;
    unsigned status = envelope_read(encoding, r->body != NULL ? r->body : "", r->bytes, r->sentry.is_event,
                                    r->sentry.project, r->http->sentry_schema, &envelope, why);
    r->ingest = envelope.in;
    r->sentry.ignored = envelope.ignored;
    snprintf(r->sentry.id, sizeof r->sentry.id, "%s", envelope.id);
    atomic_fetch_add(&r->http->ignored, envelope.ignored);
    return status;
}

enum MHD_Result http_sentry_answer(struct request *r) {
    json_t *answer = json_object();
    const json_t *refused = json_array_get(r->ingest.refused, 0);
    bool nothing = r->ingest.count == 0 && r->sentry.ignored == 0 && refused != NULL;
    if (nothing) {
        json_object_set_new(answer, "detail",
                            json_sprintf("%s %s", json_string_value(json_object_get(refused, "at")),
                                         json_string_value(json_object_get(refused, "reason"))));
    } else if (r->sentry.id[0] != '\0') {
        json_object_set_new(answer, "id", json_string(r->sentry.id));
    }
    return http_answer_json(r->connection, nothing ? MHD_HTTP_BAD_REQUEST : MHD_HTTP_OK, answer);
}
