/* SPDX-License-Identifier: MIT */
#include "collector/receive/ingest.h"

#include <stdlib.h>
#include <string.h>

#include "collector/receive/decompress.h"

static bool is_blank(const char *text, size_t bytes) {
    while (bytes > 0 && strchr(" \t\r\n", text[bytes - 1]) != NULL && text[bytes - 1] != '\0') {
        bytes--;
    }
    return bytes == 0;
}

static void refuse(struct ingest *in, size_t index, const char *id, const char *at, const char *reason,
                   long retry_s) {
    json_t *refused = json_object();
    json_object_set_new(refused, "index", json_integer((json_int_t)index));
    json_object_set_new(refused, "id", json_string(id));
    json_object_set_new(refused, "at", json_string(at));
    json_object_set_new(refused, "reason", json_string(reason));
    if (retry_s > 0) {
        json_object_set_new(refused, "retry_after", json_integer(retry_s));
    }
    json_array_append_new(in->refused, refused);
}

void ingest_refuse(struct ingest *in, size_t index, const char *id, const char *reason) {
    refuse(in, index, id, "", reason, 0);
}

void ingest_refuse_row(struct ingest *in, size_t row, const char *at, const char *reason, long retry_s) {
    refuse(in, in->rows[row].index, in->rows[row].id, at, reason, retry_s);
    row_free(&in->rows[row]);
    in->count--;
    memmove(&in->rows[row], &in->rows[row + 1], (in->count - row) * sizeof in->rows[0]);
}

/* Twice the room at a time: a row has 8 KiB, and each step may copy all of them. */
static bool make_room(struct ingest *in) {
    if (in->count < in->room) {
        return true;
    }
    size_t room = in->room == 0 ? 1 : 2 * in->room;
    struct row *rows = realloc(in->rows, room * sizeof *rows);
    if (rows == NULL) {
        return false;
    }
    in->rows = rows;
    in->room = room;
    return true;
}

bool ingest_add(struct ingest *in, const char *text, size_t bytes, size_t index, const json_t *schema) {
    struct schema_fault fault = {.at = ""};
    if (!make_room(in)) {
        return false;
    }
    struct row *row = &in->rows[in->count];
    bool fits = bytes <= INGEST_REPORT_MAX && row_make(text, bytes, schema, row, &fault);
    if (fits) {
        row->index = index;
        row->text_bytes = bytes;
        in->count++;
        return true;
    }
    const char *id = "";
    if (bytes > INGEST_REPORT_MAX) {
        memcpy(fault.reason, "is too large", sizeof "is too large");
    } else {
        id = row->id;
        row_free(row);
    }
    refuse(in, index, id, fault.at, fault.reason, fault.retry_s);
    return true;
}

static unsigned read_lines(struct ingest *in, const char *text, size_t bytes, const json_t *schema,
                           const char **why) {
    size_t index = 0;
    for (const char *end = text + bytes; text < end;) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        size_t length = (size_t)((stop != NULL ? stop : end) - text);
        if (!is_blank(text, length)) {
            if (index == INGEST_REPORTS_MAX) {
                *why = "a batch has at most 1000 reports";
                return 413;
            }
            if (!ingest_add(in, text, length, index++, schema)) {
                *why = "out of memory";
                return 503;
            }
        }
        text += length + 1;
    }
    if (index == 0) {
        *why = "the body has no report";
    }
    return index == 0 ? 400 : 0;
}

unsigned ingest_open(struct ingest *in, const char *encoding, const void *body, size_t bytes, char **text,
                     size_t *text_bytes, const char **why) {
    static const struct {
        unsigned status;
        const char *why;
    } faults[] = {[DECOMPRESS_UNKNOWN] = {415, "the encoding is none of gzip, deflate, zstd, identity"},
                  [DECOMPRESS_DAMAGED] = {400, "the compressed body is damaged"},
                  [DECOMPRESS_TOO_LARGE] = {413, "the body has more than 64 MiB after decompression"},
                  [DECOMPRESS_NO_MEMORY] = {503, "out of memory"}};
    memset(in, 0, sizeof *in);
    in->refused = json_array();
    enum decompressed result = decompress(encoding, body, bytes, INGEST_PLAIN_MAX, text, text_bytes);
    if (result == DECOMPRESSED) {
        return 0;
    }
    *why = faults[result].why;
    return faults[result].status;
}

unsigned ingest_read(const char *encoding, const void *body, size_t bytes, bool lines, const json_t *schema,
                     struct ingest *out, const char **why) {
    char *text = NULL;
    size_t text_bytes = 0;
    unsigned status = ingest_open(out, encoding, body, bytes, &text, &text_bytes, why);
    if (status != 0) {
        return status;
    }
    if (lines) {
        status = read_lines(out, text, text_bytes, schema, why);
    } else if (!ingest_add(out, text, text_bytes, 0, schema)) {
        *why = "out of memory";
        status = 503;
    }
    free(text);
    return status;
}

void ingest_free(struct ingest *in) {
    for (size_t i = 0; i < in->count; i++) {
        row_free(&in->rows[i]);
    }
    free(in->rows);
    json_decref(in->refused);
}

json_t *ingest_answer(const struct ingest *in, size_t *stored) {
    size_t repeated = 0;
    *stored = 0;
    for (size_t i = 0; i < in->count; i++) {
        *stored += in->rows[i].outcome == ROW_STORED;
        repeated += in->rows[i].outcome == ROW_REPEATED;
    }
    json_t *answer = json_object();
    json_object_set_new(answer, "accepted", json_integer((json_int_t)*stored));
    json_object_set_new(answer, "repeated", json_integer((json_int_t)repeated));
    json_object_set(answer, "refused", in->refused);
    return answer;
}
