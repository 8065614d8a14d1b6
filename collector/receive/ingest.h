/* SPDX-License-Identifier: MIT
 *
 * The body of a request becomes rows; what is no report is refused, and the others are kept. Pure but for
 * memory.
 */
#ifndef COLLECTOR_INGEST_H
#define COLLECTOR_INGEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "collector/report/row.h"

#define INGEST_REPORTS_MAX 1000
#define INGEST_BODY_MAX ((size_t)8 << 20)   /* as it is sent */
#define INGEST_PLAIN_MAX ((size_t)64 << 20) /* after decompression */
#define INGEST_REPORT_MAX ((size_t)8 << 20)

struct ingest {
    struct row *rows;
    size_t count, room; /* of rows */
    json_t *refused;    /* of {index, id, at, reason}, and retry_after where it may pass */
};

/* `lines`: the body has a report a line, else it is one. 0, or the HTTP status of what is wrong with the body
 * as a whole, with a text in *why. The caller calls ingest_free in both cases. */
unsigned ingest_read(const char *encoding, const void *body, size_t bytes, bool lines, const json_t *schema,
                     struct ingest *out, const char **why);
/* Moves a row to the refused ones. `retry_s`: the seconds after which the same report may pass, 0: it never
 * does. */
void ingest_refuse_row(struct ingest *in, size_t row, const char *at, const char *reason, long retry_s);
void ingest_free(struct ingest *in);

/* The steps of ingest_read, for bodies of another form: start and decompress; add a report (false: no
 * memory); refuse an item. */
unsigned ingest_open(struct ingest *in, const char *encoding, const void *body, size_t bytes, char **text,
                     size_t *text_bytes, const char **why);
bool ingest_add(struct ingest *in, const char *text, size_t bytes, size_t index, const json_t *schema);
void ingest_refuse(struct ingest *in, size_t index, const char *id, const char *reason);

/* {"accepted":2,"repeated":0,"refused":[...]} after the rows have their outcomes. */
json_t *ingest_answer(const struct ingest *in, size_t *stored);

#endif
