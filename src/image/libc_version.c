/* SPDX-License-Identifier: MIT
 *
 * Whether a C library can hold ours. Any thread; no allocation.
 */
#include "image/libc_version.h"

#include <string.h>

#include "os/os.h"

bool hd_libc_version_suffices(int fd) {
    static const char wanted[] = HD_GLIBC_NEEDED; /* with its end: it is a whole string */
    char piece[512];                              /* who asks may be a handler, on a small stack */
    for (uint64_t at = 0;; at += sizeof piece - sizeof wanted) { /* it may lie across two pieces */
        long n = hd_os.pread(fd, piece, sizeof piece, at);
        for (long i = 0; i + (long)sizeof wanted <= n; i++) {
            if (piece[i] == wanted[0] && memcmp(piece + i, wanted, sizeof wanted) == 0) {
                return true;
            }
        }
        if (n < (long)sizeof piece) {
            return false;
        }
    }
}
