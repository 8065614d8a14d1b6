/* SPDX-License-Identifier: MIT
 *
 * Stores the calling thread's stack bounds and its port, and gives it an alternate stack for the handler of
 * crashes. No thread gets a signal for a sample. These functions run on the watched thread at the start and
 * the end of a watch, unless the header names another thread.
 */
#include "capture/watched_thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "os/darwin/mach.h"
#include "os/darwin/thread_ports.h"
#include "os/os.h"

#define PAGE_BYTES (16u * 1024u) /* the largest page of an Apple CPU */

_Static_assert(sizeof(struct hd_mailbox) <= PAGE_BYTES, "the mailbox fits its page");

/* Darwin's libpthread has them. */
void *pthread_get_stackaddr_np(pthread_t thread);
size_t pthread_get_stacksize_np(pthread_t thread);

bool hd_capture_signal_may_be(int signal) {
    return signal == SIGURG || signal == SIGWINCH || signal == SIGCHLD;
}

int hd_capture_signal_init(int signal) {
    return hd_capture_signal_may_be(signal) ? 0 : -EINVAL;
}

void hd_capture_signal_end(void) {}

/* The memory that Hangdog maps for a watched thread has three parts: a guard page, the alternate stack,
 * the mailbox's page. */
size_t hd_capture_thread_bytes(void) {
    return 2 * (size_t)PAGE_BYTES + HD_ALT_STACK_BYTES;
}

static int set_alt_stack(struct hd_mailbox *m, uint8_t *memory) {
    stack_t now = {0};
    const stack_t ours = {.ss_sp = memory + PAGE_BYTES, .ss_size = HD_ALT_STACK_BYTES};
    if (sigaltstack(NULL, &now) != 0) {
        return -errno;
    }
    m->alt_bytes = (now.ss_flags & SS_DISABLE) == 0 ? now.ss_size : 0;
    if (m->alt_bytes != 0) {
        return 0;
    }
    int rc = hd_os.protect(memory, PAGE_BYTES, PROT_NONE);
    if (rc < 0) {
        return rc;
    }
    if (sigaltstack(&ours, NULL) != 0) {
        return -errno;
    }
    m->alt_stack = memory + PAGE_BYTES;
    m->alt_bytes = HD_ALT_STACK_BYTES;
    return 0;
}

bool hd_capture_mailbox_has_space(const struct hd_mailbox *m) {
    (void)m;
    return true;
}

/* The stack's size is that of the thread's creation, without the guard. */
static void store_bounds(struct hd_mailbox *m) {
    uint64_t end = (uint64_t)(uintptr_t)pthread_get_stackaddr_np(pthread_self());
    uint64_t bytes = pthread_get_stacksize_np(pthread_self());
    uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    /* A coroutine's stack is outside of these bounds, and so are those of a libc that lies. */
    if (bytes < end && here < end && here >= end - bytes) {
        m->stack_begin = end - bytes;
        m->stack_end = end;
    }
}

int hd_capture_thread_enter(void *memory, struct hd_mailbox **out) {
    struct hd_mailbox *m = (void *)((uint8_t *)memory + hd_capture_thread_bytes() - PAGE_BYTES);

    memset(m, 0, sizeof *m);
    m->thread = hd_thread_id_self();
    store_bounds(m);
    int rc = set_alt_stack(m, memory);
    if (rc < 0) {
        return rc;
    }
    hd_port port = hd_mach.self();
    if (!hd_thread_port_keep(m->thread, port)) {
        hd_mach.release(port); /* captures then show only that the thread is watched */
    }
    hd_capture_set_mailbox(m);
    *out = m;
    return 0;
}

/* Drops the thread's port, because the monitor was the last to use it. */
void hd_capture_thread_closed(struct hd_mailbox *m) {
    hd_port port = hd_thread_port(m->thread);
    if (port != 0) {
        hd_thread_port_drop(m->thread, port);
    }
    __atomic_store_n(&m->closed, 1, __ATOMIC_RELEASE);
}

void *hd_capture_thread_leave_closed(void) {
    struct hd_mailbox *m = hd_capture_own_mailbox();
    bool over = m != NULL && hd_thread_id_equal(m->thread, hd_thread_id_self()) &&
                __atomic_load_n(&m->closed, __ATOMIC_ACQUIRE) != 0;
    return over && hd_capture_thread_leave(m) == 0 ? (uint8_t *)m - hd_capture_thread_bytes() + PAGE_BYTES
                                                   : NULL;
}

int hd_capture_thread_leave(struct hd_mailbox *m) {
    stack_t now = {0};
    const stack_t none = {.ss_flags = SS_DISABLE, .ss_size = HD_ALT_STACK_BYTES};

    hd_capture_set_mailbox(NULL);
    __atomic_store_n(&m->ended, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&m->reading, __ATOMIC_SEQ_CST) != 0) {
        /* The monitor is copying this thread's stack, which takes some microseconds. The stack must stay
         * mapped until the copy ends. */
        hd_os_nap(HD_NS_PER_MS / 10);
    }
    if (m->alt_stack == NULL || sigaltstack(NULL, &now) != 0 || now.ss_sp != m->alt_stack) {
        return 0;
    }
    /* sigaltstack fails with EPERM if the caller is a signal handler on the alternate stack. */
    return sigaltstack(&none, NULL) != 0 ? -EBUSY : 0;
}
