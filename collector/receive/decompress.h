/* SPDX-License-Identifier: MIT
 *
 * The body of a request as it was before its compression, up to a limit: a small body may stand for a huge
 * one.
 */
#ifndef COLLECTOR_DECOMPRESS_H
#define COLLECTOR_DECOMPRESS_H

#include <stddef.h>

enum decompressed {
    DECOMPRESSED,
    DECOMPRESS_UNKNOWN,
    DECOMPRESS_DAMAGED,
    DECOMPRESS_TOO_LARGE,
    DECOMPRESS_NO_MEMORY
};

/* `encoding`: of the header Content-Encoding, NULL: none; gzip, deflate and zstd are known. At most `max`
 * bytes come out. The caller frees *out where it is DECOMPRESSED. */
enum decompressed decompress(const char *encoding, const void *in, size_t bytes, size_t max, char **out,
                             size_t *out_bytes);

#endif
