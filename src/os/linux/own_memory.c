/* SPDX-License-Identifier: MIT
 *
 * This process's own memory, which may not be there. /proc/self/mem reads it without a signal, and by a call
 * that a filter lets pass. But for a page that is not there the kernel takes the lock of the memory map for
 * writing (mm/memory.c, __access_remote_vm: a stack may be grown; since 6.5): ours would wait for as long as
 * another thread populates a mapping, say, and whoever in the program needs the lock then waits behind us.
 * So each page is tried before: the kernel reads a futex's word as though we did, and says so if it cannot.
 * Not on valgrind, which tells of such a word as of the program's error.
 */
#include <errno.h>

#include "os/linux/syscall.h"
#include "os/os.h"

#define PAGE_BYTES 4096u /* or a multiple of it */
#define RUNNING_ON_VALGRIND 0x1001
#define UNLIKELY 0xa5c3f00fu /* a word that is this one has the call arm a timer that is over */

/* Pages that were there: one that has gone since costs what it would untried. */
static __thread uint64_t known[8];

static bool is_there(uint64_t addr) {
    uint64_t last = addr | (PAGE_BYTES - 1),
             *k = &known[addr / PAGE_BYTES % (sizeof known / sizeof known[0])];
    if (*k == last) {
        return true;
    }
    if (hd_os.futex_wait((uint32_t *)(uintptr_t)(addr & ~UINT64_C(3)), UNLIKELY, 0, false) == -EFAULT) {
        return false;
    }
    *k = last;
    return true;
}

static size_t bytes_there(uint64_t addr, size_t n) {
    uint64_t end = addr + n, at = addr;
    while (at < end && is_there(at)) {
        at = (at | (PAGE_BYTES - 1)) + 1;
    }
    return at < end ? at - addr : n;
}

long hd_os_read_own(int mem_fd, uint64_t addr, void *to, size_t n) {
    if (addr > INT64_MAX || n > INT64_MAX - addr) {
        return -EFAULT;
    }
    size_t there = hd_valgrind_request(RUNNING_ON_VALGRIND) != 0 ? n : bytes_there(addr, n);
    return there == 0 ? -EFAULT : hd_os.pread(mem_fd, to, there, addr);
}
