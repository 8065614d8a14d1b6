/* SPDX-License-Identifier: MIT */
#include "collector/receive/envelope.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/sentry/sentry_report.h"

struct reader {
    const char *at, *end;
    const char *project;
    const json_t *schema;
    struct envelope *out;
    size_t index;
    int events;
    size_t json_left; /* bytes of ENVELOPE_JSON_MAX */
};

static json_t *parse(struct reader *r, const char *text, size_t bytes) {
    struct schema_fault fault;
    if (bytes > ENVELOPE_EVENT_MAX || bytes > r->json_left || schema_is_too_much(text, bytes, &fault)) {
        return NULL;
    }
    r->json_left -= bytes;
    return json_loadb(text, bytes, 0, NULL);
}

/* The line's start; *bytes are without its end. */
static const char *next_line(struct reader *r, size_t *bytes) {
    const char *line = r->at, *stop = memchr(r->at, '\n', (size_t)(r->end - r->at));
    *bytes = (size_t)((stop != NULL ? stop : r->end) - line);
    r->at = stop != NULL ? stop + 1 : r->end;
    return line;
}

static void keep_id(struct envelope *out, const json_t *object) {
    const char *id = json_string_value(json_object_get(object, "event_id"));
    size_t n = 0;
    if (id == NULL || out->id[0] != '\0') {
        return;
    }
    for (; *id != '\0' && n + 1 < sizeof out->id; id++) {
        if (isxdigit((unsigned char)*id)) {
            out->id[n++] = (char)tolower((unsigned char)*id);
        }
    }
    out->id[n] = '\0';
}

/* True: it is in the answer, as a report, as refused or as ignored; false: no memory. */
static bool add_item(struct reader *r, const char *type, const char *content, size_t bytes) {
    struct envelope *out = r->out;
    bool is_event = strcmp(type, "event") == 0;
    if (!is_event && strcmp(type, "session") != 0) {
        out->ignored++;
        return true;
    }
    if (is_event && r->events++ >= ENVELOPE_EVENTS_MAX) {
        ingest_refuse(&out->in, r->index, "", "is one of too many events: an envelope has one");
        return true;
    }
    json_t *item = parse(r, content, bytes);
    if (item == NULL) {
        ingest_refuse(&out->in, r->index, "", "is no JSON, or too much of it");
        return true;
    }
    if (is_event) {
        keep_id(out, item);
    }
    json_t *report =
        is_event ? sentry_report_of_event(item, r->project) : sentry_report_of_session(item, r->project);
    json_decref(item);
    if (report == NULL) {
        out->ignored++;
        return true;
    }
    char *text = json_dumps(report, JSON_COMPACT);
    json_decref(report);
    bool added = text != NULL && ingest_add(&out->in, text, strlen(text), r->index, r->schema);
    free(text);
    return added;
}

/* Where an item names no length, its content is a line. */
static bool take_content(struct reader *r, const json_t *head, const char **content, size_t *bytes) {
    const json_t *length = json_object_get(head, "length");
    if (length == NULL) {
        *content = next_line(r, bytes);
        return true;
    }
    json_int_t n = json_integer_value(length);
    if (!json_is_integer(length) || n < 0 || n > r->end - r->at) {
        return false;
    }
    *content = r->at;
    *bytes = (size_t)n;
    r->at += n;
    r->at += r->at < r->end && *r->at == '\n';
    return true;
}

static unsigned add_next(struct reader *r, const char **why) {
    size_t bytes;
    const char *line = next_line(r, &bytes), *content = NULL;
    if (bytes == 0) {
        return 0;
    }
    json_t *head = parse(r, line, bytes);
    const char *type = json_string_value(json_object_get(head, "type"));
    unsigned status = 0;
    if (type == NULL || !take_content(r, head, &content, &bytes)) {
        *why = "an item of the envelope has no type, or not the length that it names";
        status = 400;
    } else if (r->index == ENVELOPE_ITEMS_MAX) {
        *why = "an envelope has at most 100 items";
        status = 413;
    } else if (!add_item(r, type, content, bytes)) {
        *why = "out of memory";
        status = 503;
    }
    r->index++;
    json_decref(head);
    return status;
}

static unsigned read_items(struct reader *r, const char **why) {
    size_t bytes;
    const char *line = next_line(r, &bytes);
    json_t *head = parse(r, line, bytes);
    if (!json_is_object(head)) {
        *why = "the first line of the envelope is no object of JSON";
        json_decref(head);
        return 400;
    }
    keep_id(r->out, head);
    json_decref(head);
    unsigned status = 0;
    while (status == 0 && r->at < r->end) {
        status = add_next(r, why);
    }
    return status;
}

unsigned envelope_read(const char *encoding, const void *body, size_t bytes, bool is_event,
                       const char *project, const json_t *schema, struct envelope *out, const char **why) {
    char *text = NULL;
    size_t text_bytes = 0;
    memset(out, 0, sizeof *out);
    unsigned status = ingest_open(&out->in, encoding, body, bytes, &text, &text_bytes, why);
    if (status != 0) {
        return status;
    }
    struct reader r = {.at = text,
                       .end = text + text_bytes,
                       .json_left = ENVELOPE_JSON_MAX,
                       .project = project,
                       .schema = schema,
                       .out = out};
    if (!is_event) {
        status = read_items(&r, why);
    } else if (!add_item(&r, "event", text, text_bytes)) {
        *why = "out of memory";
        status = 503;
    }
    free(text);
    return status;
}
