/* SPDX-License-Identifier: MIT */
#include "collector/receive/decompress.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>
#include <zstd.h>

#define FIRST_BYTES ((size_t)64 << 10)

struct output {
    char *text;
    size_t used, size, max;
};

/* Makes space after what is used. */
static enum decompressed grow(struct output *o) {
    if (o->used < o->size) {
        return DECOMPRESSED;
    }
    if (o->size > o->max) { /* one byte above the limit: the text is too large */
        return DECOMPRESS_TOO_LARGE;
    }
    size_t size = o->size == 0 ? FIRST_BYTES : 2 * o->size;
    size = size > o->max ? o->max + 1 : size;
    char *text = realloc(o->text, size);
    if (text == NULL) {
        return DECOMPRESS_NO_MEMORY;
    }
    o->text = text;
    o->size = size;
    return DECOMPRESSED;
}

/* gzip, or deflate's zlib format: its head says which. */
static enum decompressed from_zlib(const void *in, size_t bytes, struct output *o) {
    z_stream z = {.next_in = (void *)(uintptr_t)in, .avail_in = (uInt)bytes};
    if (inflateInit2(&z, 32 + MAX_WBITS) != Z_OK) {
        return DECOMPRESS_NO_MEMORY;
    }
    enum decompressed result;
    int rc = Z_OK;
    while ((result = grow(o)) == DECOMPRESSED && rc == Z_OK) {
        z.next_out = (Bytef *)o->text + o->used;
        z.avail_out = (uInt)(o->size - o->used);
        rc = inflate(&z, Z_NO_FLUSH);
        o->used = o->size - z.avail_out;
        if (rc == Z_OK && z.avail_in == 0 && z.avail_out > 0) {
            rc = Z_BUF_ERROR; /* truncated input */
        }
    }
    bool whole = rc == Z_STREAM_END && z.avail_in == 0;
    inflateEnd(&z);
    if (rc == Z_STREAM_END) {
        return whole ? DECOMPRESSED : DECOMPRESS_DAMAGED;
    }
    return result != DECOMPRESSED ? result : DECOMPRESS_DAMAGED;
}

static enum decompressed from_zstd(const void *in, size_t bytes, struct output *o) {
    ZSTD_DCtx *z = ZSTD_createDCtx();
    ZSTD_inBuffer from = {in, bytes, 0};
    if (z == NULL) {
        return DECOMPRESS_NO_MEMORY;
    }
    ZSTD_DCtx_setParameter(z, ZSTD_d_windowLogMax, 23); /* a frame may ask for a window of gigabytes */
    enum decompressed result;
    size_t rc = 1;
    while ((result = grow(o)) == DECOMPRESSED) {
        ZSTD_outBuffer to = {o->text, o->size, o->used};
        size_t before = from.pos;
        rc = ZSTD_decompressStream(z, &to, &from);
        bool moved = to.pos > o->used || from.pos > before;
        o->used = to.pos;
        if (ZSTD_isError(rc) || (rc == 0 && from.pos == bytes) || !moved) {
            break;
        }
    }
    ZSTD_freeDCtx(z);
    if (result != DECOMPRESSED) {
        return result;
    }
    return rc == 0 && from.pos == bytes ? DECOMPRESSED : DECOMPRESS_DAMAGED;
}

static enum decompressed copy(const void *in, size_t bytes, struct output *o) {
    if (bytes > o->max) {
        return DECOMPRESS_TOO_LARGE;
    }
    o->text = malloc(bytes + 1);
    if (o->text == NULL) {
        return DECOMPRESS_NO_MEMORY;
    }
    memcpy(o->text, in, bytes);
    o->used = bytes;
    return DECOMPRESSED;
}

enum decompressed decompress(const char *encoding, const void *in, size_t bytes, size_t max, char **out,
                             size_t *out_bytes) {
    struct output o = {.max = max};
    enum decompressed result = DECOMPRESS_UNKNOWN;
    if (encoding == NULL || strcasecmp(encoding, "identity") == 0) {
        result = copy(in, bytes, &o);
    } else if (strcasecmp(encoding, "gzip") == 0 || strcasecmp(encoding, "deflate") == 0) {
        result = from_zlib(in, bytes, &o);
    } else if (strcasecmp(encoding, "zstd") == 0) {
        result = from_zstd(in, bytes, &o);
    }
    if (result == DECOMPRESSED && o.used > max) {
        result = DECOMPRESS_TOO_LARGE;
    }
    if (result != DECOMPRESSED) {
        free(o.text);
        return result;
    }
    *out = o.text;
    *out_bytes = o.used;
    return DECOMPRESSED;
}
