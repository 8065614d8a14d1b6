/* SPDX-License-Identifier: MIT
 *
 * The only file that maps memory or makes threads for the library. Its functions run only when a watch starts
 * or stops, so they may call libc. src/allowed-symbols.txt lists the functions of libc.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "os/os.h"

/* This variable orders an unmap by one thread before a map of the same address by another thread. Only the
 * thread sanitizer needs it: the kernel orders the two calls, but the sanitizer does not see our system
 * calls. */
static _Atomic unsigned memory_order_seen;

void *hd_os_memory_take(size_t bytes) {
    void *p = hd_os.map(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (hd_os_map_error(p) < 0) {
        return NULL;
    }
    /* A forked child has no thread of Hangdog, but a copy of this memory would say that the child is watched.
     * Zeros say that it is not. */
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
        if (hd_os_single_threaded.flag[i] != NULL) {
            *hd_os_single_threaded.flag[i] = single;
        }
    }
}

static bool is_single_threaded(void) {
    return hd_os_single_threaded.flag[0] != NULL && *hd_os_single_threaded.flag[0] != 0;
}

/* libc puts the thread-local variables of all modules at the top of a thread's stack. No function returns the
 * size of these variables, so the new thread measures how many bytes of the stack remain. Each of our threads
 * needs 10 KiB of stack as a rule, and at worst less than 16 KiB. */
#define STACK_BYTES_MIN (20 * 1024)
#define LIBC_STACK_BYTES (1024 * 1024)

/* The result of a thread's start. The value 0 means that the result is not known yet. */
enum start_result {
    STARTED = 1,
    STACK_TOO_SMALL,
    NO_PRIVATE_TABLE
};

/* The arguments and the result of a thread's start. The struct lies on the stack of the starting thread,
 * which may return as soon as `result` is set. */
struct start {
    void *(*run)(void *);
    void *arg;
    const uint8_t *stack; /* the stack's lowest address; NULL: libc allocates the stack */
    int error;            /* if `result` is NO_PRIVATE_TABLE: a positive errno value; otherwise 0 */
    _Atomic uint32_t result;
};

static void close_copies(int table) {
    if (table > 0) {
        hd_os.close_all();
    }
}

/* Exempts a function from the thread sanitizer. The preload may start a thread inside a function that the
 * sanitizer intercepts. Inside such a function the sanitizer ignores atomics, so it would report `struct
 * start` as a race. */
#define NO_THREAD_SANITIZER __attribute__((no_sanitize("thread")))

/* The new thread's first function. It stores the start's result, then calls `run`. */
NO_THREAD_SANITIZER static void *start_here(void *of) {
    struct start *s = of;
    void *(*run)(void *) = s->run;
    void *arg = s->arg;
    bool too_small =
        s->stack != NULL && (const uint8_t *)__builtin_frame_address(0) - s->stack < STACK_BYTES_MIN;
    int table = too_small ? 0 : hd_os.private_table();
    s->error = table < 0 ? -table : 0;
    atomic_store(&s->result, too_small ? STACK_TOO_SMALL : table < 0 ? NO_PRIVATE_TABLE : STARTED);
    /* The thread that starts this one may have seen the result and returned. In this case `s` does not exist
     * any more. futex_wake does not access `s`: it needs only the address. */
    hd_os.futex_wake((uint32_t *)&s->result, 1, false);
    if (too_small || table < 0) {
        return NULL;
    }
    close_copies(table);
    run(arg);
    /* If all other threads of the process have ended, libc ends the process on this thread, and writes the
     * program's buffered output to a descriptor. This thread's empty descriptor table ensures that this
     * descriptor is no file of ours. */
    close_copies(hd_os.private_table());
    return NULL;
}

/* Blocks until the thread has ended. The calling thread may be the program's, and must not end in the middle
 * of a start or stop of Hangdog. So its cancellation is disabled meanwhile. */
static void join(pthread_t thread) {
    int cancellable;

    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellable);
    (void)pthread_join(thread, NULL);
    (void)pthread_setcancelstate(cancellable, NULL);
}

/* Keeps the kernel from wiping libc's descriptor of the thread in a forked child. The descriptor is linked
 * into libc's list of threads, which a child of a raw clone still uses. The descriptor lies at the top of the
 * thread's stack, where the handle `thread` points. */
static void keep_in_children(pthread_t thread, const uint8_t *end) {
    uint8_t *page = (uint8_t *)((uintptr_t)thread & ~(uintptr_t)4095);

    (void)hd_os.advise(page, (size_t)(end - page), MADV_KEEPONFORK);
}

/* Starts the thread that `s` describes on `stack`. If `stack` is NULL, libc allocates a stack: of `bytes`
 * bytes, or of libc's default size if `bytes` is 0. Returns 0, a positive errno value, or -1 if the stack is
 * too small. */
NO_THREAD_SANITIZER static int start_on(void *stack, size_t bytes, struct start *s, pthread_t *handle) {
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
        /* The new thread inherits a mask that blocks all signals, so the kernel never delivers a signal of
         * the program to the new thread. Two signals stay unblocked, since libc itself needs them. */
        memset(&all, 0xff, sizeof all);
        rc = pthread_sigmask(SIG_SETMASK, &all, &before);
        if (rc == 0) {
            s->stack = stack;
            atomic_store(&s->result, 0);
            rc = pthread_create(handle, &attributes, start_here, s);
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
    while (atomic_load(&s->result) == 0) {
        (void)hd_os.futex_wait((uint32_t *)&s->result, 0, hd_os_now_ns() + HD_NS_PER_MS, false);
    }
    uint32_t result = atomic_load(&s->result);
    if (result != STARTED) {
        join(*handle);
    }
    return result == STACK_TOO_SMALL ? -1 : s->error;
}

/* A program that is built with a sanitizer has this function; otherwise the weak symbol is NULL. With a
 * sanitizer, libc allocates the stack, since stacks of our size are too small for a sanitizer's runtime. */
extern void __sanitizer_set_report_path(const char *) __attribute__((weak));

static bool sanitized_by_others(void) {
    return !HD_SANITIZED && &__sanitizer_set_report_path != NULL;
}

NO_THREAD_SANITIZER int hd_os_thread_start(struct hd_os_thread *t, void *stack, size_t stack_bytes,
                                           void *(*run)(void *), void *arg) {
    struct start start = {.run = run, .arg = arg};
    pthread_t handle;
    _Static_assert(sizeof handle <= sizeof t->handle, "a thread's handle fits");

    t->started = false;
    bool single = is_single_threaded();
    int rc = sanitized_by_others() ? -1 : start_on(stack, stack_bytes, &start, &handle);
    /* The stack is too small: the new thread found this if rc is -1, libc if rc is EINVAL. Or a sanitizer's
     * runtime needs libc's stack (-1). So libc allocates a larger stack. */
    if (rc == -1 || rc == EINVAL) {
        rc = start_on(NULL, LIBC_STACK_BYTES, &start, &handle);
    }
    if (rc == EINVAL) {
        rc = start_on(NULL, 0, &start, &handle);
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

    /* Without a sanitizer, pthread_detach is not needed and would be a risk. It may free memory, and while
     * the process exits, malloc may be locked. */
    if (t->started && sanitized_by_others()) {
        memcpy(&handle, t->handle, sizeof handle);
        (void)pthread_detach(handle);
    }
}
