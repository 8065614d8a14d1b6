/* SPDX-License-Identifier: MIT */
#include "memory.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "errors.h"
#include "import.h"
#include "mach.h"
#include "thread.h"

static _Atomic int lists_open;

void memory_list_taken(void *list) {
    (void)list;
    lists_open++;
}

/* ---- mmap --------------------------------------------------------------------------------- */

#define DARWIN_MAP_SHARED 0x1
#define DARWIN_MAP_PRIVATE 0x2
#define DARWIN_MAP_FIXED 0x10
#define DARWIN_MAP_ANON 0x1000
#define DARWIN_MAP_KNOWN (0x1013 | 0x40 | 0x2000) /* NORESERVE, RESILIENT_MEDIA */

static int flags_of(int darwin) {
    int flags = 0;
    flags |= darwin & DARWIN_MAP_SHARED ? MAP_SHARED : 0;
    flags |= darwin & DARWIN_MAP_PRIVATE ? MAP_PRIVATE : 0;
    flags |= darwin & DARWIN_MAP_FIXED ? MAP_FIXED : 0;
    flags |= darwin & DARWIN_MAP_ANON ? MAP_ANONYMOUS : 0;
    return flags;
}

#if defined(__aarch64__)
#define PAGE 16384ull /* the host's is 4096: code that takes it for Apple's is refused */
#else
#define PAGE 4096ull
#endif

static bool is_aligned(uint64_t value) {
    return value % PAGE == 0;
}
static uint64_t whole(uint64_t bytes) {
    return (bytes + PAGE - 1) & ~(PAGE - 1);
}

/* Maps at an address of Apple's alignment. */
static void *map_anywhere(size_t bytes, int protection, int flags, int fd, int64_t offset) {
    uint8_t *block = mmap(NULL, bytes + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) {
        return MAP_FAILED;
    }
    uint8_t *at = (uint8_t *)whole((uint64_t)block);
    if (at > block) {
        munmap(block, (size_t)(at - block));
    }
    if (block + PAGE > at) {
        munmap(at + bytes, (size_t)(block + PAGE - at));
    }
    return mmap(at, bytes, protection, flags | MAP_FIXED, fd, offset);
}

static void *fake_mmap(void *at, size_t bytes, int protection, int flags, int fd, int64_t offset) {
    bool fixed = (flags & DARWIN_MAP_FIXED) != 0;
    if (flags & ~DARWIN_MAP_KNOWN || bytes == 0 || (fixed && !is_aligned((uint64_t)at)) ||
        (!(flags & DARWIN_MAP_ANON) && !is_aligned((uint64_t)offset))) {
        errors_set(EINVAL);
        return MAP_FAILED;
    }
    if (flags & DARWIN_MAP_ANON) {
        fd = -1; /* Darwin's may be a tag of the memory */
        offset = 0;
    }
    void *p = fixed ? mmap(at, whole(bytes), protection, flags_of(flags), fd, offset)
                    : map_anywhere(whole(bytes), protection, flags_of(flags), fd, offset);
    if (p == MAP_FAILED) {
        errors_set(errno);
    }
    return p;
}

static int fake_munmap(void *at, size_t bytes) {
    return is_aligned((uint64_t)at) && bytes ? errors_of(munmap(at, whole(bytes))) : errors_fail(EINVAL);
}

static int fake_mprotect(void *at, size_t bytes, int protection) {
    return is_aligned((uint64_t)at) ? errors_of(mprotect(at, whole(bytes), protection)) : errors_fail(EINVAL);
}

static int fake_madvise(void *at, size_t bytes, int advice) {
    (void)at;
    (void)bytes;
    return advice >= 0 && advice <= 10 ? 0 : errors_fail(EINVAL); /* its effect is the kernel's choice */
}

static int fake_minherit(void *at, size_t bytes, int inherit) {
    return inherit == 2 ? errors_of(madvise(at, bytes, MADV_DONTFORK)) : 0;
}

static int fake_msync(void *at, size_t bytes, int flags) {
    return errors_of(msync(at, bytes, flags & 0x10 ? MS_SYNC : MS_ASYNC));
}

/* ---- vm_* --------------------------------------------------------------------------------- */

static int fake_vm_allocate(uint32_t task, uint64_t *at, uint64_t bytes, int flags) {
    (void)task;
    (void)flags;
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *at = (uint64_t)p;
    return p == MAP_FAILED ? 3 : KERN_SUCCESS;
}

static int fake_vm_deallocate(uint32_t task, uint64_t at, uint64_t bytes) {
    (void)task;
    if (bytes <= THREADS * 4 && lists_open > 0) {
        bytes = THREADS * 4; /* a list of task_threads */
        lists_open--;
    }
    return munmap((void *)at, (bytes + 4095) & ~4095ull) ? KERN_INVALID_ADDRESS : KERN_SUCCESS;
}

/* Lists of threads that no caller has freed. */
static int fake_lists(void) {
    return lists_open;
}

/* ---- malloc ------------------------------------------------------------------------------- */

static _Atomic uint32_t malloc_lock; /* 0, or the owner's port */
static _Atomic int malloc_waits;

static void malloc_enter(void) {
    uint32_t unlocked = 0;
    if (atomic_compare_exchange_strong(&malloc_lock, &unlocked, thread_self->port)) {
        return;
    }
    malloc_waits++;
    thread_block();
    do {
        futex_wait(&malloc_lock, unlocked, NULL);
        unlocked = 0;
    } while (!atomic_compare_exchange_strong(&malloc_lock, &unlocked, thread_self->port));
    thread_unblock();
}

static void malloc_leave(void) {
    malloc_lock = 0;
    futex_wake(&malloc_lock, 1000);
}

static void *fake_malloc(size_t n) {
    malloc_enter();
    void *p = malloc(n);
    malloc_leave();
    return p;
}

static void *fake_calloc(size_t n, size_t size) {
    malloc_enter();
    void *p = calloc(n, size);
    malloc_leave();
    return p;
}

static void *fake_realloc(void *old, size_t n) {
    malloc_enter();
    void *p = realloc(old, n);
    malloc_leave();
    return p;
}

static void fake_free(void *p) {
    malloc_enter();
    free(p);
    malloc_leave();
}

static char *fake_strdup(const char *s) {
    malloc_enter();
    char *p = strdup(s);
    malloc_leave();
    return p;
}

static int fake_posix_memalign(void **out, size_t align, size_t n) {
    malloc_enter();
    int result = posix_memalign(out, align, n);
    malloc_leave();
    return result;
}

/* The part of a malloc zone that takes its lock: `introspect` is the 13th word, `force_lock` its own 6th. */
static void force_lock(void *zone) {
    (void)zone;
    malloc_enter();
}
static void force_unlock(void *zone) {
    (void)zone;
    malloc_leave();
}
static void *introspection[16] = {[5] = (void *)force_lock, [6] = (void *)force_unlock};
static void *zone[20] = {[12] = introspection};

static void *fake_malloc_default_zone(void) {
    return zone;
}

/* How often a thread waited for malloc's lock. */
static int fake_malloc_waits(void) {
    return malloc_waits;
}

static int fake_getpagesize(void) {
    return PAGE;
}
static uint64_t page_size = PAGE;

const struct import imports_of_memory[] = {
    KERNEL("mmap", fake_mmap, 197),
    KERNEL("munmap", fake_munmap, 73),
    KERNEL("mprotect", fake_mprotect, 74),
    KERNEL("madvise", fake_madvise, 75),
    KERNEL("minherit", fake_minherit, 250),
    KERNEL("msync", fake_msync, 65),
    KERNEL("vm_allocate", fake_vm_allocate, -10),
    KERNEL("vm_deallocate", fake_vm_deallocate, -12),
    LIBRARY("malloc", fake_malloc),
    LIBRARY("calloc", fake_calloc),
    LIBRARY("realloc", fake_realloc),
    LIBRARY("free", fake_free),
    LIBRARY("strdup", fake_strdup),
    LIBRARY("posix_memalign", fake_posix_memalign),
    LIBRARY("malloc_default_zone", fake_malloc_default_zone),
    LIBRARY("getpagesize", fake_getpagesize),
    LIBRARY("fake_lists", fake_lists),
    LIBRARY("fake_malloc_waits", fake_malloc_waits),
    DATA("vm_page_size", &page_size),
    DATA("vm_kernel_page_size", &page_size),
    IMPORT_END,
};
