/* SPDX-License-Identifier: MIT */
#include "cli/export/gzip.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

enum {
    WITH_GZIP_HEADER = 16 + MAX_WBITS,
    MEMORY = 8
};

int gzip_write(FILE *out, const void *data, size_t bytes) {
    z_stream z = {0};
    if (bytes > UINT_MAX || deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WITH_GZIP_HEADER, MEMORY,
                                         Z_DEFAULT_STRATEGY) != Z_OK) {
        errno = ENOMEM;
        return -1;
    }
    size_t room = deflateBound(&z, (uLong)bytes);
    void *packed = malloc(room);
    z.next_in = (Bytef *)(uintptr_t)data;
    z.avail_in = (uInt)bytes;
    z.next_out = packed;
    z.avail_out = (uInt)room;
    bool well = packed != NULL && deflate(&z, Z_FINISH) == Z_STREAM_END;
    errno = well ? errno : ENOMEM;
    well = well && fwrite(packed, 1, z.total_out, out) == z.total_out;
    deflateEnd(&z);
    free(packed);
    return well ? 0 : -1;
}
