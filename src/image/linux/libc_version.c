/* SPDX-License-Identifier: MIT */
#include "image/linux/libc_version.h"

#include <string.h>

#include "os/os.h"

bool hd_libc_version_suffices(int fd) {
    static const char wanted[] = HD_GLIBC_NEEDED; /* with the NUL, to match whole strings */
    char piece[512];                              /* small: a signal handler may call this on a small stack */
    for (uint64_t at = 0;;
         at += sizeof piece - sizeof wanted) { /* pieces overlap: the string may lie across two */
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
