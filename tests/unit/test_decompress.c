/* SPDX-License-Identifier: MIT
 *
 * Bodies of requests: what was compressed comes out as it was, and a bomb, a cut or a foreign one does not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "chance.h"
#include "collector/receive/decompress.h"

#define MAX ((size_t)1 << 20)

static unsigned char packed[4 << 20];

/* gzip and deflate by zlib's window bits. */
static size_t pack_zlib(const void *text, size_t bytes, int bits) {
    z_stream z = {.next_in = (void *)(uintptr_t)text,
                  .avail_in = (uInt)bytes,
                  .next_out = packed,
                  .avail_out = sizeof packed};
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    return sizeof packed - z.avail_out;
}

static size_t pack(const char *encoding, const void *text, size_t bytes) {
    if (strcmp(encoding, "zstd") == 0) {
        return ZSTD_compress(packed, sizeof packed, text, bytes, 3);
    }
    return pack_zlib(text, bytes, strcmp(encoding, "gzip") == 0 ? 16 + MAX_WBITS : MAX_WBITS);
}

static const char *const encodings[] = {"gzip", "deflate", "zstd"};
#define ENCODINGS (sizeof encodings / sizeof encodings[0])

static enum decompressed result_of(const char *encoding, const void *in, size_t bytes, size_t max) {
    char *out = NULL;
    size_t out_bytes = 0;
    enum decompressed result = decompress(encoding, in, bytes, max, &out, &out_bytes);
    if (result == DECOMPRESSED) {
        assert_true(out_bytes <= max);
        free(out);
    } else {
        assert_null(out);
    }
    return result;
}

static void it_comes_out_as_it_was(void **state) {
    static const size_t sizes[] = {0, 1, 65535, 65536, 65537, 131072, 1000000, MAX};
    char *text = malloc(MAX);
    (void)state;
    assert_non_null(text);
    for (size_t i = 0; i < MAX; i++) {
        text[i] = (char)('a' + any(4));
    }
    for (size_t e = 0; e < ENCODINGS; e++) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            char *out = NULL;
            size_t bytes = 0, n = pack(encodings[e], text, sizes[i]);
            assert_int_equal(decompress(encodings[e], packed, n, MAX, &out, &bytes), DECOMPRESSED);
            assert_int_equal(bytes, sizes[i]);
            assert_memory_equal(out, text, bytes);
            free(out);
        }
    }
    free(text);
}

static void without_a_name_it_is_copied(void **state) {
    (void)state;
    static const char *const none[] = {NULL, "identity", "IDENTITY"};
    for (size_t i = 0; i < 3; i++) {
        char *out = NULL;
        size_t bytes = 0;
        assert_int_equal(decompress(none[i], "a\0b", 3, 3, &out, &bytes), DECOMPRESSED);
        assert_int_equal(bytes, 3);
        assert_memory_equal(out, "a\0b", 3);
        free(out);
        assert_int_equal(result_of(none[i], "abcd", 4, 3), DECOMPRESS_TOO_LARGE);
    }
}

static void other_names_are_unknown(void **state) {
    (void)state;
    static const char *const names[] = {"", "br", "gzip, gzip", "x-gzip", " gzip", "gzip\n", "zstd;q=1"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_int_equal(result_of(names[i], "x", 1, MAX), DECOMPRESS_UNKNOWN);
    }
    size_t n = pack("gzip", "x", 1);
    assert_int_equal(result_of("GZip", packed, n, MAX), DECOMPRESSED);
}

/* The limit holds to the byte, and a bomb stops at it. */
static void no_more_than_the_limit_comes_out(void **state) {
    const size_t large = (size_t)32 << 20;
    char *zeros = calloc(1, large);
    (void)state;
    assert_non_null(zeros);
    for (size_t e = 0; e < ENCODINGS; e++) {
        size_t n = pack(encodings[e], zeros, 1000);
        assert_int_equal(result_of(encodings[e], packed, n, 1000), DECOMPRESSED);
        assert_int_equal(result_of(encodings[e], packed, n, 999), DECOMPRESS_TOO_LARGE);
        n = pack(encodings[e], zeros, MAX + 1);
        assert_int_equal(result_of(encodings[e], packed, n, MAX), DECOMPRESS_TOO_LARGE);
    }
    size_t n = ZSTD_compress(packed, sizeof packed, zeros, large, 1);
    assert_true(n < large / 1000);
    assert_int_equal(result_of("zstd", packed, n, MAX), DECOMPRESS_TOO_LARGE);
    free(zeros);
}

static void a_window_of_gigabytes_is_not_made(void **state) {
    (void)state;
    static const char text[] = "small";
    ZSTD_CCtx *z = ZSTD_createCCtx();
    ZSTD_inBuffer from = {text, sizeof text, 0};
    ZSTD_outBuffer to = {packed, sizeof packed, 0};
    ZSTD_CCtx_setParameter(z, ZSTD_c_windowLog, 27);
    ZSTD_CCtx_setParameter(z, ZSTD_c_contentSizeFlag, 0);
    ZSTD_compressStream2(z, &to, &from, ZSTD_e_flush); /* before it knows how little it is */
    while (ZSTD_compressStream2(z, &to, &from, ZSTD_e_end) != 0) {
    }
    ZSTD_freeCCtx(z);
    assert_int_equal(result_of("zstd", packed, to.pos, MAX), DECOMPRESS_DAMAGED);
}

static void a_cut_or_longer_body_is_damaged(void **state) {
    (void)state;
    char text[2000];
    for (size_t i = 0; i < sizeof text; i++) {
        text[i] = (char)any(256);
    }
    for (size_t e = 0; e < ENCODINGS; e++) {
        size_t n = pack(encodings[e], text, sizeof text);
        for (size_t cut = 0; cut < n; cut++) {
            assert_int_equal(result_of(encodings[e], packed, cut, MAX), DECOMPRESS_DAMAGED);
        }
        packed[n] = 'x';
        assert_int_equal(result_of(encodings[e], packed, n + 1, MAX), DECOMPRESS_DAMAGED);
    }
}

/* A checksum finds it, or the text has another length or other bytes: it never runs on. */
static void changed_bytes_do_no_harm(void **state) {
    (void)state;
    char text[4000];
    unsigned counts[DECOMPRESS_NO_MEMORY + 1] = {0};
    for (size_t i = 0; i < sizeof text; i++) {
        text[i] = (char)('a' + any(7));
    }
    for (size_t e = 0; e < ENCODINGS; e++) {
        size_t n = pack(encodings[e], text, sizeof text);
        for (int round = 0; round < 3000; round++) {
            size_t at = n > 0 ? any((uint32_t)n) : 0;
            unsigned char own = packed[at];
            packed[at] = (unsigned char)any(256);
            counts[result_of(encodings[e], packed, n, 2 * sizeof text)]++;
            packed[at] = own;
        }
        for (size_t other = 0; other < ENCODINGS; other++) {
            bool same = other == e || (e < 2 && other < 2); /* a head of zlib or gzip says which it is */
            assert_int_equal(result_of(encodings[other], packed, n, MAX) == DECOMPRESSED, same);
        }
    }
    assert_true(counts[DECOMPRESS_DAMAGED] > 3000);
    assert_int_equal(counts[DECOMPRESS_UNKNOWN] + counts[DECOMPRESS_NO_MEMORY], 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_comes_out_as_it_was),
        cmocka_unit_test(without_a_name_it_is_copied),
        cmocka_unit_test(other_names_are_unknown),
        cmocka_unit_test(no_more_than_the_limit_comes_out),
        cmocka_unit_test(a_window_of_gigabytes_is_not_made),
        cmocka_unit_test(a_cut_or_longer_body_is_damaged),
        cmocka_unit_test(changed_bytes_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
