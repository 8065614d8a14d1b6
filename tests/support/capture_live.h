/* SPDX-License-Identifier: MIT
 *
 * A watched thread for tests of capture: it enters, runs a body, and can be captured by the test's own
 * thread.
 */
#ifndef HD_CAPTURE_LIVE_H
#define HD_CAPTURE_LIVE_H

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "capture/capture.h"
#include "capture/watched_thread.h"
#include "os/os.h"

struct live {
    void (*body)(struct live *);
    void (*inside)(struct live *); /* of live_body_coroutine */
    void *arg;
    pthread_t thread;
    void *memory;
    struct hd_mailbox *mailbox;
    struct hd_target target;
    int tid;
    int enter_rc, leave_rc;
    int ready, stop, returned; /* atomic */
};

static uint8_t live_stack[HD_STACK_BYTES_MAX];

static inline int live_get(const int *flag) {
    return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}

static inline void live_set(int *flag, int value) {
    __atomic_store_n(flag, value, __ATOMIC_RELEASE);
}

static inline void live_nap(uint64_t ns) {
    static uint32_t never;
    hd_os.futex_wait(&never, 0, hd_os_now_ns() + ns, false);
}

/* Waits for a flag, for ten seconds. */
static inline bool live_wait(const int *flag) {
    for (int i = 0; i < 10000 && live_get(flag) == 0; i++) {
        live_nap(HD_NS_PER_MS);
    }
    return live_get(flag) != 0;
}

static inline void *live_run(void *arg) {
    struct live *l = arg;
    l->tid = hd_os.get_tid();
    l->enter_rc = hd_capture_thread_enter(l->memory, &l->mailbox);
    live_set(&l->ready, 1);
    l->body(l);
    live_set(&l->returned, 1);
    if (l->enter_rc == 0) {
        l->leave_rc = hd_capture_thread_leave(l->mailbox);
    }
    return NULL;
}

/* Computes, in code that no sanitizer slows or moves, until l->stop. Its code lies between the two symbols.
 */
extern const char live_spin_begin[], live_spin_end[];
void live_spin(const int *stop);
#if defined(__x86_64__)
__asm__(".text\n"
        ".globl live_spin\n.type live_spin, @function\n"
        ".globl live_spin_begin\n.globl live_spin_end\n"
        "live_spin:\nlive_spin_begin:\n"
        ".cfi_startproc\n"
        "endbr64\n"
        "1: cmpl $0, (%rdi)\n"
        "   je 1b\n"
        "   ret\n"
        ".cfi_endproc\n"
        "live_spin_end:\n"
        ".size live_spin, . - live_spin\n");
#elif defined(__aarch64__)
__asm__(".text\n"
        ".globl live_spin\n.type live_spin, %function\n"
        ".globl live_spin_begin\n.globl live_spin_end\n"
        "live_spin:\nlive_spin_begin:\n"
        ".cfi_startproc\n"
        "1: ldr w1, [x0]\n"
        "   cbz w1, 1b\n"
        "   ret\n"
        ".cfi_endproc\n"
        "live_spin_end:\n"
        ".size live_spin, . - live_spin\n");
#endif

static inline bool live_in_spin(uint64_t pc) {
    return pc >= (uint64_t)live_spin_begin && pc < (uint64_t)live_spin_end;
}

static inline void live_spin_until_stop(struct live *l) {
    live_spin(&l->stop);
    (void)live_get(&l->stop); /* for the thread sanitizer, which does not see the spinning code's read */
}

static inline void live_body_spin(struct live *l) {
    live_spin_until_stop(l);
}

/* Starts it and opens the target. False: something failed. */
static inline bool live_start(struct live *l, void (*body)(struct live *)) {
    l->body = body;
    if (hd_capture_signal_init(SIGURG) != 0) {
        return false;
    }
    memset(live_stack, 0x5a, sizeof live_stack);
    l->memory = hd_os_memory_take(hd_capture_thread_bytes());
    if (l->memory == NULL || pthread_create(&l->thread, NULL, live_run, l) != 0 || !live_wait(&l->ready) ||
        l->enter_rc != 0) {
        return false;
    }
    l->target.watched = true;
    l->target.mailbox = l->mailbox;
    l->target.request.signal = SIGURG;
    return hd_target_open(&l->target, hd_thread_id_of(l->tid)) == 0;
}

/* For a thread that is in a call for ever: closed, and left to the end of the process. */
static inline void live_abandon(struct live *l) {
    hd_target_close(&l->target);
    pthread_detach(l->thread);
}

static inline void live_end(struct live *l) {
    live_set(&l->stop, 1);
    pthread_join(l->thread, NULL);
    hd_target_close(&l->target);
    hd_os_memory_give(l->memory, hd_capture_thread_bytes());
}

/* Reads its events, one after the other, until l->stop. */
static inline void live_body_read(struct live *l) {
    uint64_t value;
    while (live_get(&l->stop) == 0) {
        if (read(*(int *)l->arg, &value, sizeof value) < 0) {
            return;
        }
    }
}

static struct live *live_switching;

static inline void live_switch(void) {
    live_switching->inside(live_switching);
}

/* Runs l->inside on a stack that is not the thread's own: nothing tells where it ends. */
static inline void live_body_coroutine(struct live *l) {
    static ucontext_t here, there;
    const size_t bytes = 256 * 1024;
    void *other = malloc(bytes);
    getcontext(&there);
    there.uc_stack.ss_sp = other;
    there.uc_stack.ss_size = bytes;
    there.uc_link = &here;
    live_switching = l;
    makecontext(&there, live_switch, 0);
    swapcontext(&here, &there);
    free(other);
}

/* Starts one that reads events of *fd, which is opened here and closed by live_end_reader. */
static inline bool live_start_reader(struct live *l, int *fd, void (*body)(struct live *)) {
    *fd = eventfd(0, EFD_CLOEXEC);
    l->arg = fd;
    return *fd >= 0 && live_start(l, body);
}

/* Captured as an unwatched thread, once it is in its read. */
static inline int live_frozen_reading(struct hd_target *t, struct hd_capture *out) {
    int rc;
    do {
        rc = hd_capture_frozen(t, live_stack, out);
    } while (rc == -EAGAIN || (rc == 0 && out->syscall_nr != SYS_read));
    return rc;
}

static inline void live_end_reader(struct live *l) {
    int fd = *(int *)l->arg;
    live_set(&l->stop, 1);
    (void)eventfd_write(fd, 1);
    live_end(l);
    close(fd);
}

/* Captures until the way is `way`, for ten seconds: the thread may be on its way into a call. */
static inline bool live_capture_by(struct live *l, enum hd_way way, struct hd_capture *out) {
    for (int i = 0; i < 2000; i++) {
        if (hd_capture_take(&l->target, true, out) != 0) {
            return false;
        }
        if (out->way == way) {
            return true;
        }
        live_nap(5 * HD_NS_PER_MS);
    }
    return false;
}

/* Captures until it is caught by a signal in the spinning code. */
static inline bool live_capture_spinning(struct live *l, struct hd_capture *out) {
    for (int i = 0; i < 2000; i++) {
        if (!live_capture_by(l, HD_WAY_SIGNALLED, out)) {
            return false;
        }
        if (live_in_spin(out->regs.pc)) {
            return true;
        }
        live_nap(HD_NS_PER_MS);
    }
    return false;
}

/* Captures until it is read in place inside call `nr`. */
static inline bool live_capture_in(struct live *l, int nr, struct hd_capture *out) {
    for (int i = 0; i < 2000; i++) {
        if (!live_capture_by(l, HD_WAY_FROZEN, out)) {
            return false;
        }
        if (out->syscall_nr == nr) {
            return true;
        }
        live_nap(HD_NS_PER_MS);
    }
    return false;
}

#endif
