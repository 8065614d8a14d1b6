/* SPDX-License-Identifier: MIT
 *
 * A report as the store takes it: its columns, its group, and its text, compressed.
 */
#ifndef COLLECTOR_REPORT_ROW_H
#define COLLECTOR_REPORT_ROW_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/report/grouping.h"
#include "collector/report/schema.h"
#include "collector/report/unnamed.h"

#define ROW_ID_CHARS 36

enum row_outcome {
    ROW_PENDING,
    ROW_STORED,
    ROW_REPEATED
};

/* The parts of the place where a program ran. */
enum row_origin {
    ORIGIN_HOST,
    ORIGIN_UNIT,
    ORIGIN_CONTAINER, /* the name, or the start of the id */
    ORIGIN_IMAGE,
    ORIGINS
};
extern const char *const row_origin_names[ORIGINS];
#define ROW_ORIGIN_BYTES 128

struct row {
    char id[ROW_ID_CHARS + 1], repeat_of[ROW_ID_CHARS + 1];
    char app[128], version[128], system[160], kind[24], cause[16], who[128], session[64], own_fingerprint[64];
    char label[128];                        /* of a hang, as the program set it */
    char origin[ORIGINS][ROW_ORIGIN_BYTES]; /* "": not known */
    int64_t started_ms;                     /* since 1970, UTC */
    int64_t duration_ms, used_ms;           /* used: of a session, the time that it was in use */
    bool grouped, is_session;
    bool is_hang;             /* HD_OF_RATE: the duration counts as time hung */
    bool hang_free;           /* of a session: no hang was in it */
    size_t index, text_bytes; /* place in the batch; size of the JSON text */
    struct grouping group;
    unsigned char *body; /* zstd of the JSON text */
    size_t body_bytes;
    char unnamed[UNNAMED_BUILDS_MAX][UNNAMED_ID_BYTES]; /* debug files that would name its frames */
    size_t unnamed_count;
    enum row_outcome outcome;
};

/* Checks one report and makes its row. False, and why: it is not one. `out` needs row_free in both cases. */
bool row_make(const char *text, size_t bytes, const json_t *schema, struct row *out,
              struct schema_fault *fault);
void row_free(struct row *row);

/* The size of a stored body's text. False: damaged, or too large. */
bool row_text_size(const void *body, size_t bytes, size_t *text_bytes);
/* The text of a stored body; the caller frees it. NULL: damaged, or no memory. */
char *row_text(const void *body, size_t bytes, size_t *text_bytes);

struct row_stream;

/* Takes the body, which malloc made, also where it returns NULL: damaged, or no memory. */
struct row_stream *row_stream_start(void *body, size_t bytes);
/* Of the whole text. */
size_t row_stream_text_bytes(const struct row_stream *s);
/* About how much memory the stream takes, in bytes. */
size_t row_stream_memory(const struct row_stream *s);
/* The next piece of the text: its bytes, 0 at the end, -1: the body is damaged. */
ssize_t row_stream_read(struct row_stream *s, char *to, size_t size);
void row_stream_free(struct row_stream *s);

#endif
