/* SPDX-License-Identifier: MIT */
#include "busy.h"

#include <stddef.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22 /* Linux 5.14 */
#endif
#define MAPPED ((size_t)2 << 30)

bool busy_in_kernel(void) {
    void *at = mmap(NULL, MAPPED, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) {
        return false;
    }
    (void)madvise(at, MAPPED, MADV_NOHUGEPAGE);
    bool done = madvise(at, MAPPED, MADV_POPULATE_READ) == 0;
    munmap(at, MAPPED);
    return done;
}
