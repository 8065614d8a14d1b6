/* SPDX-License-Identifier: MIT
 *
 * Finds out which pages of this process can be read without harm to the program.
 *
 * A read of an untouched page from /proc/self/mem may have to grow a stack. For that the kernel locks the
 * memory map for writing (__access_remote_vm in mm/memory.c, since 6.5). So a thread that populates a
 * mapping would block the monitor, and the monitor would block other threads.
 *
 * /proc/self/pagemap shows the touched pages (Documentation/admin-guide/mm/pagemap.rst). A read of that file
 * faults no page in. A read that faults a page in could be blocked by a hanging userfaultfd handler, which
 * has to provide the page.
 */
#include <fcntl.h>
#include <sys/auxv.h>

#include "os/os.h"

/* The most pages that one call of hd_os_touched checks; all bytes of a longer range count as touched. */
#define PAGES_MAX 32u
/* Bit 63 of a page's entry in /proc/self/pagemap says that the page is in memory, bit 62 that it is in swap.
 * Other bits do not show that a page is touched: an untouched page may be soft-dirty. */
#define TOUCHED (UINT64_C(3) << 62)

/* The descriptor of /proc/self/pagemap, plus 1; 0: not open. The variable is thread-local, since each of our
 * threads has a private descriptor table. */
static __thread int pagemap;

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
