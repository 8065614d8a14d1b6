/* SPDX-License-Identifier: MIT
 *
 * The only file that maps memory for the library; threads.c makes its threads. Its functions run only when a
 * watch starts or stops.
 *
 * A forked child must find zeros in this memory. The system cannot wipe it: a mapping with VM_INHERIT_NONE is
 * missing in the child, and a mark of the child would end it. A check of the process id would be in each
 * mark. So a handler of pthread_atfork maps new memory over the old in the child. A child of posix_spawn or
 * vfork needs none, and iOS has no fork.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "os/darwin/thread_ports.h"
#include "os/darwin/wait.h"
#include "os/os.h"

#define BLOCKS_MAX 512u
#define CLAIMED 1u

/* The mappings of this process. An address of 0: free. */
static struct {
    _Atomic uintptr_t address;
    size_t bytes;
} blocks[BLOCKS_MAX];

static void wipe_in_child(void) {
    for (unsigned i = 0; i < BLOCKS_MAX; i++) {
        uintptr_t address = atomic_load(&blocks[i].address);
        if (address > CLAIMED) {
            void *p = (void *)address;
            void *now = hd_os.map(p, blocks[i].bytes, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
            if (hd_os_map_error(now) != 0) {
                hd_os_memory_clear(p, blocks[i].bytes);
            }
        }
    }
    hd_wait_forget();
    hd_thread_ports_forget();
}

static unsigned claim_block(void) {
    unsigned i = 0;
    uintptr_t free = 0;
    while (i < BLOCKS_MAX && !atomic_compare_exchange_strong(&blocks[i].address, &free, CLAIMED)) {
        free = 0;
        i++;
    }
    return i;
}

void *hd_os_memory_take(size_t bytes) {
    static _Atomic bool in_children;
    if (!atomic_exchange(&in_children, true) && pthread_atfork(NULL, NULL, wipe_in_child) != 0) {
        atomic_store(&in_children, false);
        return NULL;
    }
    unsigned i = claim_block();
    if (i == BLOCKS_MAX) {
        return NULL;
    }
    void *p = hd_os.map(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (hd_os_map_error(p) < 0) {
        atomic_store(&blocks[i].address, 0);
        return NULL;
    }
    blocks[i].bytes = bytes;
    atomic_store(&blocks[i].address, (uintptr_t)p);
    return p;
}

void hd_os_memory_give(void *p, size_t bytes) {
    for (unsigned i = 0; p != NULL && i < BLOCKS_MAX; i++) {
        if (atomic_load(&blocks[i].address) == (uintptr_t)p) {
            atomic_store(&blocks[i].address, 0); /* first: a child must not map memory here */
            break;
        }
    }
    if (p != NULL) {
        hd_os.unmap(p, bytes);
    }
}

int hd_os_memory_of_file(void *p, size_t bytes, int fd) {
    int flags = MAP_FIXED | (fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS);
    return hd_os_map_error(hd_os.map(p, bytes, PROT_READ | PROT_WRITE, flags, fd, 0));
}

void hd_os_memory_clear(void *p, size_t bytes) {
    typedef uint64_t __attribute__((may_alias)) word;
    for (size_t i = 0; i < bytes / sizeof(word); i++) {
        __atomic_store_n((word *)p + i, 0, __ATOMIC_RELAXED);
    }
}

/* ---- memory that a read may harm: Linux's question only ---------------------------------------- */

size_t hd_os_touched(uint64_t addr, size_t n) {
    (void)addr;
    return n;
}

void hd_os_touched_open(void) {}

void hd_os_touched_close(void) {}
