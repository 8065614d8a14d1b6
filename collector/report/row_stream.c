/* SPDX-License-Identifier: MIT */

#include <stdlib.h>
#include <zstd.h>

#include "collector/report/row.h"

/* The level of row.c has a window of 2 MiB; the decompressor adds a block of 128 KiB twice. A larger window
 * means that another program made the body. */
#define WINDOW_LOG 21
#define WINDOW_BYTES (((size_t)1 << WINDOW_LOG) + ((size_t)256 << 10))

struct row_stream {
    void *body;
    size_t text_bytes, done;
    ZSTD_DStream *zstd;
    ZSTD_inBuffer in;
};

struct row_stream *row_stream_start(void *body, size_t bytes) {
    struct row_stream *s = calloc(1, sizeof *s);
    if (s == NULL) {
        free(body);
        return NULL;
    }
    s->body = body;
    s->in = (ZSTD_inBuffer){.src = body, .size = bytes};
    s->zstd = ZSTD_createDStream();
    if (!row_text_size(body, bytes, &s->text_bytes) || s->zstd == NULL ||
        ZSTD_isError(ZSTD_DCtx_setParameter(s->zstd, ZSTD_d_windowLogMax, WINDOW_LOG))) {
        row_stream_free(s);
        return NULL;
    }
    return s;
}

size_t row_stream_text_bytes(const struct row_stream *s) {
    return s->text_bytes;
}

size_t row_stream_memory(const struct row_stream *s) {
    return s->in.size + (s->text_bytes < WINDOW_BYTES ? s->text_bytes : WINDOW_BYTES);
}

ssize_t row_stream_read(struct row_stream *s, char *to, size_t size) {
    ZSTD_outBuffer out = {.dst = to, .size = size};
    while (out.pos == 0 && s->done < s->text_bytes) {
        size_t before = s->in.pos, left = ZSTD_decompressStream(s->zstd, &out, &s->in);
        if (ZSTD_isError(left)) {
            return -1;
        }
        if (out.pos == 0 && (left == 0 || s->in.pos == before)) { /* the body ends too early */
            return -1;
        }
    }
    s->done += out.pos;
    return (ssize_t)out.pos;
}

void row_stream_free(struct row_stream *s) {
    if (s != NULL) {
        ZSTD_freeDStream(s->zstd);
        free(s->body);
        free(s);
    }
}
