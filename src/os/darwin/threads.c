/* SPDX-License-Identifier: MIT
 *
 * Threads of the library. They run only while a watch starts or stops, so they may call libSystem.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "os/os.h"

/* The least stack that a thread of ours gets on the caller's memory. */
#define STACK_BYTES_MIN ((size_t)20 * 1024)
#define LIBC_STACK_BYTES ((size_t)256 * 1024)

/* Puts a stack on the caller's memory, if enough whole pages of the system lie in it: a page has 16 KiB on
 * arm64. Else the system allocates the stack. */
static int set_stack(pthread_attr_t *attributes, void *stack, size_t bytes) {
    uintptr_t page = (uintptr_t)getpagesize();
    uintptr_t low = ((uintptr_t)stack + page - 1) & ~(page - 1);
    uintptr_t high = ((uintptr_t)stack + bytes) & ~(page - 1);
    if (stack != NULL && high > low && high - low >= STACK_BYTES_MIN &&
        pthread_attr_setstack(attributes, (void *)low, high - low) == 0) {
        return 0;
    }
    return pthread_attr_setstacksize(attributes, LIBC_STACK_BYTES);
}

/* Creates a thread that blocks all signals but those of a fault: it inherits the mask. The kernel keeps a
 * blocked signal of a fault for later, and the instruction fails again without end. Returns 0 or a positive
 * errno value. */
static int create(pthread_t *handle, const pthread_attr_t *attributes, void *(*run)(void *), void *arg) {
    static const int faults[] = {SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP};
    sigset_t blocked, before;
    (void)sigfillset(&blocked);
    for (unsigned i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        (void)sigdelset(&blocked, faults[i]);
    }
    int rc = pthread_sigmask(SIG_SETMASK, &blocked, &before);
    if (rc == 0) {
        rc = pthread_create(handle, attributes, run, arg);
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    return rc;
}

int hd_os_thread_start(struct hd_os_thread *t, void *stack, size_t stack_bytes, void *(*run)(void *),
                       void *arg) {
    pthread_attr_t attributes;
    pthread_t handle;
    _Static_assert(sizeof handle <= sizeof t->handle, "a thread's handle fits");
    t->started = false;
    int rc = pthread_attr_init(&attributes);
    if (rc != 0) {
        return -rc;
    }
    rc = set_stack(&attributes, stack, stack_bytes);
    if (rc == 0) {
        rc = create(&handle, &attributes, run, arg);
    }
    (void)pthread_attr_destroy(&attributes);
    if (rc == 0) {
        memcpy(t->handle, &handle, sizeof handle);
        t->started = true;
    }
    return -rc;
}

int hd_os_thread_start_shared(void *(*run)(void *), void *arg) {
    pthread_t handle;
    int rc = create(&handle, NULL, run, arg);
    if (rc == 0) {
        (void)pthread_detach(handle);
    }
    return -rc;
}

/* The calling thread may be the program's: its cancellation is disabled meanwhile. */
void hd_os_thread_join(struct hd_os_thread *t) {
    pthread_t handle;
    int cancellable;
    if (t->started) {
        memcpy(&handle, t->handle, sizeof handle);
        (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellable);
        (void)pthread_join(handle, NULL);
        (void)pthread_setcancelstate(cancellable, NULL);
        t->started = false;
    }
}

void hd_os_thread_detach(struct hd_os_thread *t) {
    (void)t; /* for a sanitizer of Linux */
}

struct hd_os_single_threaded hd_os_single_threaded;

void hd_os_set_single_threaded(bool single) {
    (void)single; /* glibc's flag */
}
