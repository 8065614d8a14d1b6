/* SPDX-License-Identifier: MIT
 *
 * A stored text in pieces of any size is the text; a damaged body ends with an error.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include <cmocka.h>

#include "collector/report/row.h"

#define TEXT_BYTES ((size_t)5 << 20) /* more than the window */

static void *packed(const char *text, size_t bytes, size_t *size) {
    size_t most = ZSTD_compressBound(bytes);
    void *body = malloc(most);
    assert_non_null(body);
    *size = ZSTD_compress(body, most, text, bytes, 3);
    assert_false(ZSTD_isError(*size));
    return body;
}

/* Some of it repeats from far, and some does not compress. */
static char *make_text(size_t bytes) {
    char *text = malloc(bytes + 1);
    uint64_t random = 1;
    assert_non_null(text);
    for (size_t i = 0; i < bytes; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        text[i] = (i / 100000) % 2 == 0 ? (char)(random >> 56) : "{\"pc\":\"0x1010\"},"[i % 16];
    }
    return text;
}

static void pieces_are_the_text(void **state) {
    (void)state;
    for (size_t bytes = 1; bytes <= TEXT_BYTES; bytes = bytes * 7 + 3) {
        char *text = make_text(bytes), *got = malloc(bytes + 1);
        size_t size, done = 0;
        void *body = packed(text, bytes, &size);
        assert_non_null(got);
        struct row_stream *s = row_stream_start(body, size);
        assert_non_null(s);
        assert_int_equal(row_stream_text_bytes(s), bytes);
        assert_true(row_stream_memory(s) < size + ((size_t)3 << 20));
        ssize_t n;
        while ((n = row_stream_read(s, got + done,
                                    done % 3 == 0 ? bytes + 1 - done : 1 + (bytes - done) / 2)) > 0) {
            done += (size_t)n;
        }
        assert_int_equal(n, 0);
        assert_int_equal(done, bytes);
        assert_memory_equal(text, got, bytes);
        row_stream_free(s);
        free(text);
        free(got);
    }
}

static void a_damaged_body_ends(void **state) {
    (void)state;
    char *text = make_text(300000), piece[65536];
    size_t size;
    assert_null(row_stream_start(strdup("no zstd"), 7));
    for (int cut = 0; cut < 2; cut++) {
        char *body = packed(text, 300000, &size);
        if (cut == 0) {
            memset(body + size / 2, 0x55, 1000);
        } else {
            size /= 2;
        }
        struct row_stream *s = row_stream_start(body, size);
        assert_non_null(s);
        ssize_t n;
        size_t done = 0;
        while ((n = row_stream_read(s, piece, sizeof piece)) > 0) {
            done += (size_t)n;
            assert_true(done <= 300000);
        }
        assert_true(n < 0 || done == 300000); /* noise may be another noise */
        assert_true(cut == 0 || n < 0);
        row_stream_free(s);
    }
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_the_text),
        cmocka_unit_test(a_damaged_body_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
