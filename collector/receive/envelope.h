/* SPDX-License-Identifier: MIT
 * Reads the body that Sentry's clients post: an envelope, or a single event from older clients. An envelope
 * has a line of JSON, then items. An item has a line of JSON and a content. Pure, except for memory.
 */
#ifndef COLLECTOR_ENVELOPE_H
#define COLLECTOR_ENVELOPE_H

#include "collector/receive/ingest.h"

#define ENVELOPE_ITEMS_MAX 100
#define ENVELOPE_ID_BYTES 33
#define ENVELOPE_EVENT_MAX ((size_t)1 << 20)
#define ENVELOPE_EVENTS_MAX 4 /* Sentry's form allows one */
/* Of all JSON in an envelope: it has one event, and sessions, which are small. Attachments are not parsed. */
#define ENVELOPE_JSON_MAX ((size_t)2 << 20)

struct envelope {
    struct ingest in;           /* errors, hangs and sessions, as reports */
    size_t ignored;             /* items of other kinds */
    char id[ENVELOPE_ID_BYTES]; /* of the event; "": the envelope names none */
};

/* `schema`: sentry_report_schema's. 0, or the HTTP status of what is wrong with the body as a whole, with a
 * text in *why. The caller calls ingest_free(&out->in) in both cases. */
unsigned envelope_read(const char *encoding, const void *body, size_t bytes, bool is_event,
                       const char *project, const json_t *schema, struct envelope *out, const char **why);

#endif
