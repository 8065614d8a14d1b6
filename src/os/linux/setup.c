/* SPDX-License-Identifier: MIT
 *
 * The set-up file: the only one that takes memory for the library and makes its threads. Ordinary code,
 * before and after any hang; it has its own list of allowed symbols.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "os/os.h"

/* What one thread gave back another may get at the same address. The kernel has put the two in order; the
 * thread sanitizer, which does not see our system calls, is told so. */
static _Atomic unsigned memory_order_seen;

void *hd_os_memory_take(size_t bytes) {
    void *p = hd_os.map(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (hd_os_map_error(p) < 0) {
        return NULL;
    }
    /* A forked child has none of our threads: it must find state that says "off", not a copy of "on". */
    if (hd_os.advise(p, bytes, MADV_WIPEONFORK) < 0) {
        hd_os.unmap(p, bytes);
        return NULL;
    }
    if (HD_SANITIZED) {
        atomic_fetch_add(&memory_order_seen, 1);
    }
    return p;
}

void hd_os_memory_give(void *p, size_t bytes) {
    if (p != NULL) {
        if (HD_SANITIZED) {
            atomic_fetch_add(&memory_order_seen, 1);
        }
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

/* ---- threads -------------------------------------------------------------------------------- */

struct hd_os_single_threaded hd_os_single_threaded;

void hd_os_set_single_threaded(bool single) {
    for (unsigned i = 0; i < 2; i++) {
        if (hd_os_single_threaded.note[i] != NULL) {
            *hd_os_single_threaded.note[i] = single;
        }
    }
}

static bool is_single_threaded(void) {
    return hd_os_single_threaded.note[0] != NULL && *hd_os_single_threaded.note[0] != 0;
}

/* libc lays the thread-local variables of all modules on top of a thread's stack, and does not tell how much
 * they take: the new thread looks what is left for it. */
#define LEFT_BYTES_MIN (20 * 1024) /* they use some 10 KiB; the deepest that can come about is below 16 */
#define LIBC_STACK_BYTES (1024 * 1024)

enum verdict {
    BORN = 1,
    CRAMPED,
    TABLELESS
};

struct birth {
    void *(*run)(void *);
    void *arg;
    const uint8_t *stack; /* NULL: libc's */
    int error;            /* why it is without a table */
    _Atomic uint32_t verdict;
};

static void empty(int table) {
    if (table > 0) {
        hd_os.close_all();
    }
}

/* The preload may start inside an interceptor of the thread sanitizer, which takes no notice of atomics there
 * and would call the hand-over a race. */
#define INSIDE_A_CALL __attribute__((no_sanitize("thread")))

INSIDE_A_CALL static void *be_born(void *of) {
    struct birth *b = of;
    void *(*run)(void *) = b->run;
    void *arg = b->arg;
    bool cramped =
        b->stack != NULL && (const uint8_t *)__builtin_frame_address(0) - b->stack < LEFT_BYTES_MIN;
    int table = cramped ? 0 : hd_os.own_table();
    b->error = table < 0 ? -table : 0;
    atomic_store(&b->verdict, cramped ? CRAMPED : table < 0 ? TABLELESS : BORN);
    hd_os.futex_wake((uint32_t *)&b->verdict, 1, false); /* the birth itself may be gone */
    if (cramped || table < 0) {
        return NULL;
    }
    empty(table);
    run(arg);
    /* libc ends the process on its last thread: where that is this one, nothing that the program has not
     * written out yet gets into a file of ours */
    empty(hd_os.own_table());
    return NULL;
}

/* A thread of the program's that is cancelled ends after it, and not in it: a start, or a stop, is not left
 * half done. */
static void join(pthread_t thread) {
    int cancellable;

    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellable);
    (void)pthread_join(thread, NULL);
    (void)pthread_setcancelstate(cancellable, NULL);
}

/* libc lays what it keeps of a thread on top of its stack, from where the handle points, and links it into
 * the list of all. A child by a raw clone has that list as it is: it must not end in pages that are zero. */
static void keep_in_children(pthread_t thread, const uint8_t *end) {
    uint8_t *page = (uint8_t *)((uintptr_t)thread & ~(uintptr_t)4095);

    (void)hd_os.advise(page, (size_t)(end - page), MADV_KEEPONFORK);
}

/* With `stack` NULL it is libc's, of `bytes` if not 0. 0, a positive errno, or -1: there was too little room.
 */
INSIDE_A_CALL static int start_on(void *stack, size_t bytes, struct birth *b, pthread_t *handle) {
    pthread_attr_t attributes;
    sigset_t all, before;
    int rc = pthread_attr_init(&attributes);

    if (rc != 0) {
        return rc;
    }
    if (stack != NULL) {
        rc = pthread_attr_setstack(&attributes, stack, bytes);
    } else if (bytes != 0) {
        rc = pthread_attr_setstacksize(&attributes, bytes);
    }
    if (rc == 0) {
        /* The new thread inherits the mask: there is no instant at which it could take a signal of the
         * program's. libc's own call leaves out the two signals that libc needs itself. */
        memset(&all, 0xff, sizeof all);
        rc = pthread_sigmask(SIG_SETMASK, &all, &before);
        if (rc == 0) {
            b->stack = stack;
            atomic_store(&b->verdict, 0);
            rc = pthread_create(handle, &attributes, be_born, b);
            (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
        }
    }
    (void)pthread_attr_destroy(&attributes);
    if (rc != 0) {
        return rc;
    }
    if (stack != NULL) {
        keep_in_children(*handle, (uint8_t *)stack + bytes);
    }
    while (atomic_load(&b->verdict) == 0) {
        (void)hd_os.futex_wait((uint32_t *)&b->verdict, 0, hd_os_now_ns() + HD_NS_PER_MS, false);
    }
    uint32_t verdict = atomic_load(&b->verdict);
    if (verdict != BORN) {
        join(*handle);
    }
    return verdict == CRAMPED ? -1 : b->error;
}

/* A sanitizer's runtime, the program's own, wants more room on every stack than we have, and says so. */
extern void __sanitizer_set_report_path(const char *) __attribute__((weak));

static bool sanitized_by_others(void) {
    return !HD_SANITIZED && &__sanitizer_set_report_path != NULL;
}

INSIDE_A_CALL int hd_os_thread_start(struct hd_os_thread *t, void *stack, size_t stack_bytes,
                                     void *(*run)(void *), void *arg) {
    struct birth birth = {.run = run, .arg = arg};
    pthread_t handle;
    _Static_assert(sizeof handle <= sizeof t->handle, "a thread's handle fits");

    t->started = false;
    bool single = is_single_threaded();
    int rc = sanitized_by_others() ? -1 : start_on(stack, stack_bytes, &birth, &handle);
    if (rc == -1 || rc == EINVAL) { /* little or no room beside the thread-local variables */
        rc = start_on(NULL, LIBC_STACK_BYTES, &birth, &handle);
    }
    if (rc == EINVAL) {
        rc = start_on(NULL, 0, &birth, &handle);
    }
    if (single) {
        hd_os_set_single_threaded(true);
    }
    if (rc == 0) {
        memcpy(t->handle, &handle, sizeof handle);
        t->started = true;
    }
    return -rc;
}

int hd_os_thread_start_shared(void *(*run)(void *), void *arg) {
    pthread_t handle;
    sigset_t all, before;
    memset(&all, 0xff, sizeof all);
    int rc = pthread_sigmask(SIG_SETMASK, &all, &before);
    if (rc == 0) {
        rc = pthread_create(&handle, NULL, run, arg);
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    if (rc == 0) {
        (void)pthread_detach(handle);
    }
    return -rc;
}

void hd_os_thread_join(struct hd_os_thread *t) {
    pthread_t handle;

    if (t->started) {
        memcpy(&handle, t->handle, sizeof handle);
        join(handle);
        t->started = false;
    }
}

void hd_os_thread_detach(struct hd_os_thread *t) {
    pthread_t handle;

    if (t->started &&
        sanitized_by_others()) { /* it then frees memory, which libc's malloc is not ready for */
        memcpy(&handle, t->handle, sizeof handle);
        (void)pthread_detach(handle);
    }
}
