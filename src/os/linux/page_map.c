/* SPDX-License-Identifier: MIT
 *
 * Whether there is memory where this process may have none. /proc/self/mem reads what is there, but for a
 * page that is not the kernel takes the lock of the memory map for writing (mm/memory.c, __access_remote_vm:
 * a stack may be grown; since 6.5): ours would wait for as long as another thread populates a mapping, say,
 * and whoever in the program needs the lock then waits behind us. /proc/self/pagemap tells it by a read that
 * faults nothing in: a page may be somebody's to provide (userfaultfd), and he hangs. It knows the pages that
 * were touched (Documentation/admin-guide/mm/pagemap.rst).
 */
#include <fcntl.h>
#include <sys/auxv.h>

#include "os/os.h"

#define PAGES_MAX 32u /* of which one read tells; of the rest nothing is known */
/* Present, or swapped. An untouched page may have the bit for soft-dirty. */
#define TOUCHED (UINT64_C(3) << 62)

static __thread int pagemap; /* the descriptor + 1: our threads have tables of their own */

void hd_os_touched_open(void) {
    int fd = hd_os_open(AT_FDCWD, "/proc/self/pagemap");
    hd_os_touched_close();
    pagemap = fd < 0 ? 0 : fd + 1;
}

void hd_os_touched_close(void) {
    hd_os_close(pagemap - 1);
    pagemap = 0;
}

size_t hd_os_touched(uint64_t addr, size_t n) {
    uint64_t page_bytes = getauxval(AT_PAGESZ), first = addr / page_bytes, word[PAGES_MAX];
    uint64_t pages = n == 0 || addr + n < addr ? PAGES_MAX + 1 : (addr + n - 1) / page_bytes - first + 1;
    if (pagemap == 0 || pages > PAGES_MAX) {
        return n;
    }
    long got = hd_os.pread(pagemap - 1, word, pages * sizeof word[0], first * sizeof word[0]);
    if (got < 0) {
        return n;
    }
    uint64_t there = (uint64_t)got / sizeof word[0];
    while (there > 0 && (word[there - 1] & TOUCHED) == 0) {
        there--;
    }
    if (there == 0 || (word[0] & TOUCHED) == 0) {
        return 0;
    }
    return there == pages ? n : (first + there) * page_bytes - addr;
}
