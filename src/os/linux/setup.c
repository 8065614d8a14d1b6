/* SPDX-License-Identifier: MIT
 *
 * The set-up file: the only one that takes memory for the library and makes its threads. Ordinary code,
 * before and after any hang; it has its own list of allowed symbols.
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "os/os.h"

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
    return p;
}

void hd_os_memory_give(void *p, size_t bytes) {
    if (p != NULL) {
        hd_os.unmap(p, bytes);
    }
}

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

int hd_os_thread_start(struct hd_os_thread *t, void *stack, size_t stack_bytes, void *(*run)(void *),
                       void *arg) {
    pthread_attr_t attributes;
    pthread_t handle;
    sigset_t all, before;

    _Static_assert(sizeof handle <= sizeof t->handle, "a thread's handle fits");
    t->started = false;
    int rc = pthread_attr_init(&attributes);
    if (rc != 0) {
        return -rc;
    }
    rc = pthread_attr_setstack(&attributes, stack, stack_bytes);
    if (rc == 0) {
        /* The new thread inherits the mask: there is no instant at which it could take a signal of the
         * program's. libc's own call leaves out the two signals that libc needs itself. */
        memset(&all, 0xff, sizeof all);
        rc = pthread_sigmask(SIG_SETMASK, &all, &before);
        if (rc == 0) {
            bool single = is_single_threaded();
            rc = pthread_create(&handle, &attributes, run, arg);
            if (single) {
                hd_os_single_threaded.pid = hd_os.get_pid();
                hd_os_set_single_threaded(true);
            }
            (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
        }
    }
    (void)pthread_attr_destroy(&attributes);
    if (rc == 0) {
        memcpy(t->handle, &handle, sizeof handle);
        t->started = true;
    }
    return -rc;
}

void hd_os_thread_join(struct hd_os_thread *t) {
    pthread_t handle;

    if (!t->started) {
        return;
    }
    memcpy(&handle, t->handle, sizeof handle);
    (void)pthread_join(handle, NULL);
    t->started = false;
}
