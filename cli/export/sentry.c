/* SPDX-License-Identifier: MIT */
#include "cli/export/sentry.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/base/sanitize.h"
#include "cli/export/formats.h"
#include "cli/reader/report_load.h"

#define EVENT_BYTES_MAX 1000000 /* Sentry's limit is 1 MB */

/* 32 digits of the report's id. */
static void event_id(const json_t *report, char out[33]) {
    const char *id = report_text(report, "id");
    size_t n = 0;
    for (; *id != '\0' && n < 32; id++) {
        if (isxdigit((unsigned char)*id)) {
            out[n++] = (char)tolower((unsigned char)*id);
        }
    }
    memset(out + n, '0', 32 - n);
    out[32] = '\0';
}

/* JSON_ENSURE_ASCII: no reader takes a character for the end of a line. It leaves DEL, which a terminal
 * obeys. */
static char *dump(const json_t *json) {
    return sanitize_json_text(json, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_ENSURE_ASCII |
                                        JSON_REAL_PRECISION(17));
}

/* The event as text, without what makes it too large. */
static char *dump_event(json_t *event) {
    static const char *const large[] = {"threads", "debug_meta", "exception"};
    char *text = dump(event);
    for (size_t i = 0; text != NULL && strlen(text) > EVENT_BYTES_MAX && i < sizeof large / sizeof large[0];
         i++) {
        json_object_del(event, large[i]);
        free(text);
        text = dump(event);
    }
    return text;
}

char *export_sentry_envelope(const json_t *report, const char *dsn) {
    char id[33], now[32], *envelope = NULL;
    time_t s = time(NULL);
    struct tm utc;
    event_id(report, id);
    gmtime_r(&s, &utc);
    strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%SZ", &utc);
    json_t *event = sentry_event_make(report, id);
    json_t *header = json_pack("{s:s, s:s, s:s*}", "event_id", id, "sent_at", now, "dsn", dsn);
    char *body = dump_event(event), *head = dump(header);
    if (body == NULL || head == NULL ||
        asprintf(&envelope,
                 "%s\n{\"type\":\"event\",\"length\":%zu,\"content_type\":\"application/json\"}\n%s\n", head,
                 strlen(body), body) < 0) {
        envelope = NULL;
    }
    free(body);
    free(head);
    json_decref(event);
    json_decref(header);
    return envelope;
}

int export_sentry(FILE *out, const json_t *reports) {
    const json_t *report;
    size_t i;
    json_array_foreach(reports, i, report) {
        char *envelope = export_sentry_envelope(report, NULL);
        if (envelope == NULL) {
            errno = ENOMEM;
            return -1;
        }
        fputs(envelope, out);
        free(envelope);
    }
    return ferror(out) ? -1 : 0;
}
