/* SPDX-License-Identifier: MIT
 *
 * What Sentry's clients send, by CPU time and memory faults. An input that starts with '{' is an event, as
 * fuzz_json.h expands it. Else its first byte says how the rest comes: as it is, by gzip or zstd, which may
 * be damaged; 'G' and 'Z': compressed here, so that what is behind is reached.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "collector/base/built_in.h"
#include "collector/receive/envelope.h"
#include "collector/sentry/sentry_report.h"
#include "fuzz_cost.h"
#include "fuzz_json.h"

#define VALUES_MAX 400000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
size_t LLVMFuzzerMutate(uint8_t *data, size_t bytes, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t max, unsigned seed);

static json_t *schema;

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t max, unsigned seed) {
    bool is_event = bytes > 0 && data[0] == '{';
    return is_event && seed % 8 != 0 ? fuzz_json_change(data, bytes, max, seed)
                                     : LLVMFuzzerMutate(data, bytes, max);
}

static void read_it(unsigned part, const char *name, const char *encoding, const void *body, size_t bytes,
                    bool is_event) {
    struct envelope envelope;
    const char *why = "";
    unsigned status = envelope_read(encoding, body, bytes, is_event, "1", schema, &envelope, &why);
    fuzz_cost_end(part, name);
    if (status == 0) {
        size_t stored = 0;
        json_decref(ingest_answer(&envelope.in, &stored));
    }
    ingest_free(&envelope.in);
}

static void read_event(const uint8_t *data, size_t bytes) {
    json_t *event = fuzz_json_expand(data, bytes, VALUES_MAX, (size_t)2 << 20);
    char *text = event != NULL ? json_dumps(event, JSON_COMPACT) : NULL;
    if (text != NULL) {
        fuzz_cost_start(data, bytes);
        read_it(0, "event", NULL, text, strlen(text), true);
    }
    free(text);
    json_decref(event);
}

static size_t compress_gzip(const uint8_t *data, size_t bytes, uint8_t *out, size_t size) {
    z_stream z = {.next_in = (Bytef *)(uintptr_t)data,
                  .avail_in = (uInt)bytes,
                  .next_out = out,
                  .avail_out = (uInt)size};
    if (deflateInit2(&z, 1, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        return 0;
    }
    deflate(&z, Z_FINISH);
    deflateEnd(&z);
    return size - z.avail_out;
}

static void read_compressed(bool gzip, const uint8_t *data, size_t bytes) {
    size_t size = ZSTD_compressBound(bytes) + 1024;
    uint8_t *packed = malloc(size);
    size_t n = gzip ? compress_gzip(data, bytes, packed, size) : ZSTD_compress(packed, size, data, bytes, 1);
    fuzz_cost_start(data, bytes);
    read_it(1, "compressed", gzip ? "gzip" : "zstd", packed, n, false);
    free(packed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    static const char *const encodings[] = {NULL, "gzip", "zstd", "deflate", "identity", "other"};
    if (schema == NULL) {
        json_t *reports = built_in_schema();
        schema = sentry_report_schema(reports);
        json_decref(reports);
    }
    if (bytes == 0) {
        return 0;
    }
    if (data[0] == '{') {
        read_event(data, bytes);
    } else if (data[0] == 'G' || data[0] == 'Z') {
        read_compressed(data[0] == 'G', data + 1, bytes - 1);
    } else {
        fuzz_cost_start(data, bytes);
        read_it(2, "envelope", encodings[data[0] % 6], data + 1, bytes - 1, false);
    }
    return 0;
}
