/* SPDX-License-Identifier: MIT
 *
 * Installs the process's signal handler, and gives a thread its alternate stack and its mailbox. These
 * functions run on the watched thread at the start and the end of a watch, unless the header names another
 * thread.
 */
#include "capture/watched_thread.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "capture/arch/linux_context.h"
#include "capture/linux/signal_handler.h"
#include "capture/linux/signal_request.h"
#include "os/os.h"

#ifndef SA_RESTORER
#define SA_RESTORER 0x04000000
#endif

/* the size of a signal's frame with AVX-512, for kernels without AT_MINSIGSTKSZ */
#define FRAME_BYTES 3632u
/* the bytes of stack that the handler needs: more than the 800 that -fstack-usage shows */
#define HANDLER_BYTES 2048u
/* the size of the smallest page; page_bytes returns the system's page size */
#define PAGE_BYTES 4096u

_Static_assert(sizeof(struct hd_mailbox) <= PAGE_BYTES, "the mailbox fits its page");

static size_t page_bytes(void) {
    size_t n = getauxval(AT_PAGESZ);
    return n < PAGE_BYTES ? PAGE_BYTES : n;
}

bool hd_capture_signal_may_be(int signal) {
    return signal == SIGURG || signal == SIGWINCH || signal == SIGCHLD;
}

/* Stores the process number for the handler. The kernel wipes the number in a forked child, so a child
 * that is watched calls this function too. */
static int make_alive(void) {
    uint32_t *word = (uint32_t *)(uintptr_t)hd_capture_alive;
    word = word != NULL ? word : hd_os_memory_take(sizeof *word);
    if (word == NULL) {
        return -ENOMEM;
    }
    /* The handler compares the process number of a signal's sender with this one, and so saves a call of
     * getpid. */
    *word = (uint32_t)hd_os.get_pid();
    hd_capture_alive = word;
    return 0;
}

int hd_capture_signal_init(int signal) {
    struct hd_kernel_action ours = {
        .handler = (void *)hd_capture_on_signal,
        .flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART | SA_RESTORER,
        .restorer = (void *)hd_capture_restorer,
        /* block all signals while our handler runs, because no handler of the program may see a half
         * repaired signal context */
        .mask = ~0ULL,
    };
    struct hd_kernel_action before = {0};

    if (!hd_capture_signal_may_be(signal)) {
        return -EINVAL;
    }
    int rc = hd_os.signal_action(signal, NULL, &before);
    rc = rc == 0 ? make_alive() : rc;
    if (rc < 0) {
        return rc;
    }
    bool installed = before.handler == (void *)hd_capture_on_signal;
    /* SIG_IGN counts as the program's action too, because a program that this process executes inherits
     * SIG_IGN, but no handler. */
    if (!installed && before.handler != (void *)SIG_DFL) {
        return -EBUSY;
    }
    rc = hd_signal_request_use(signal);
    if (rc == 0 && !installed) {
        rc = hd_os.signal_action(signal, &ours, &before);
        if (rc == 0 && before.handler != (void *)SIG_DFL) {
            /* The program has installed a handler after we looked for one: restore that handler. */
            hd_os.signal_action(signal, &before, NULL);
            rc = -EBUSY;
        }
    }
    return rc;
}

void hd_capture_signal_end(void) {
    static const int all[] = {SIGURG, SIGWINCH, SIGCHLD};
    const struct hd_kernel_action none = {0};
    for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct hd_kernel_action now = {0};
        if (hd_os.signal_action(all[i], NULL, &now) == 0 && now.handler == (void *)hd_capture_on_signal) {
            hd_os.signal_action(all[i], &none, NULL);
        }
    }
}

/* The memory that Hangdog maps for a watched thread has three parts: a guard page, the alternate stack,
 * the mailbox's page. */
size_t hd_capture_thread_bytes(void) {
    return 2 * page_bytes() + HD_ALT_STACK_BYTES;
}

/* Returns true if the program has a handler with SA_ONSTACK. The thread then gets no alternate signal
 * stack from Hangdog. Without an alternate stack, the program's handler can use the thread's whole stack,
 * which is larger than ours. Our own handlers do not count: they have our restorer. libc's handlers of
 * signals 32 and 33 do not count, because they need little stack. */
static bool program_wants_none(void) {
    for (int signal = 1; signal <= 64; signal++) {
        struct hd_kernel_action action = {0};
        if (signal != 32 && signal != 33 && hd_os.signal_action(signal, NULL, &action) == 0 &&
            (action.flags & SA_ONSTACK) != 0 && action.restorer != (void *)hd_capture_restorer &&
            action.handler != (void *)SIG_DFL && action.handler != (void *)SIG_IGN) {
            return true;
        }
    }
    return false;
}

static int set_alt_stack(struct hd_mailbox *m, uint8_t *memory) {
    size_t page = page_bytes();
    uint8_t *bytes = memory + page;
    stack_t now = {0};
    stack_t ours = {.ss_sp = bytes, .ss_size = HD_ALT_STACK_BYTES};

    int rc = hd_os.alt_stack(NULL, &now);
    m->alt_bytes = rc == 0 && (now.ss_flags & SS_DISABLE) == 0 ? now.ss_size : 0;
    if (rc < 0 || m->alt_bytes != 0 || program_wants_none()) {
        return rc;
    }
    if (getauxval(AT_MINSIGSTKSZ) > HD_ALT_STACK_BYTES / 2) {
        /* a signal's frame with this CPU's registers would fill half of the alternate stack */
        return -ENOMEM;
    }
    /* A handler of the program may fork on this stack, and the child still needs it. So the kernel must not
     * wipe the stack in the child. A kernel that does not know MADV_KEEPONFORK does not wipe the stack
     * either. */
    (void)hd_os.advise(bytes, HD_ALT_STACK_BYTES, MADV_KEEPONFORK);
    rc = hd_os.protect(memory, page, PROT_NONE);
    if (rc < 0) {
        return rc;
    }
    /* Touch the pages of the stack that the handler's frame needs, so that the handler causes no page
     * fault. */
    memset(bytes + HD_ALT_STACK_BYTES - 4 * (size_t)PAGE_BYTES, 0, 4 * (size_t)PAGE_BYTES);
    rc = hd_os.alt_stack(&ours, NULL);
    if (rc == 0) {
        m->alt_stack = bytes;
        m->alt_bytes = HD_ALT_STACK_BYTES;
    }
    return rc;
}

bool hd_capture_mailbox_has_space(const struct hd_mailbox *m) {
    uint64_t frame = getauxval(AT_MINSIGSTKSZ);
    frame = frame != 0 ? frame : FRAME_BYTES;
    uint64_t bytes = __atomic_load_n(&m->alt_bytes, __ATOMIC_RELAXED);
    return bytes == 0 || bytes >= frame + HANDLER_BYTES;
}

/* Takes the dry sample. The handler's first run causes page faults for code and stack, which take longer than
 * the handler itself. So the thread sends itself the first signal here, where the signal can interrupt no
 * call of the program. The handler writes to `unused`, because another thread's answer may be in the two
 * shared buffers. */
static void dry_sample(struct hd_mailbox *m, uint8_t *unused) {
    int signal = hd_signal_request_signal();
    struct hd_kernel_action now = {0};
    uint64_t blocked = 0;
    uint64_t here = (uint64_t)__builtin_frame_address(0);

    if (signal == 0 || !hd_capture_mailbox_has_space(m) || hd_os.signal_mask(0, NULL, &blocked) < 0 ||
        (blocked >> (signal - 1) & 1) != 0 || hd_os.signal_action(signal, NULL, &now) < 0 ||
        now.handler != (void *)hd_capture_on_signal) {
        return;
    }
    /* Only the page of this function's frame is certainly mapped, so only this page may be read by plain
     * loads. */
    m->stack_lo = here & ~(uint64_t)(PAGE_BYTES - 1);
    m->stack_hi = m->stack_lo + PAGE_BYTES;
    m->bytes = unused;
    __atomic_store_n(&m->word, hd_mail_word(0, HD_MAIL_REQUESTED), __ATOMIC_RELEASE);
    (void)hd_os.signal_thread(hd_os.get_pid(), hd_thread_id_tid(m->thread), signal, 0);
    __atomic_store_n(&m->word, hd_mail_word(0, HD_MAIL_IDLE), __ATOMIC_RELEASE);
    m->stack_lo = 0;
    m->stack_hi = 0;
    hd_signal_request_fetch();
}

#define STACK_MAX (1ULL << 36)
/* the data that libc keeps above a thread's stack frames, up to the end of the stack, has at most this
 * many bytes */
#define ABOVE_MAX (64u * 1024u)

/* Finds the stack that libc gave this thread, in libc's thread descriptor. There the stack's start, the
 * stack's size and the guard's size are three consecutive 64-bit values. The main thread's descriptor has no
 * such values.
 *
 * No other source of the stack's bounds will do. pthread_getattr_np allocates and locks. In `maps` a
 * coroutine's stack looks like a thread's, but the program may unmap it. Since glibc 2.42 the mapping also
 * contains the guard. */
static void find_stack(struct hd_mailbox *m) {
#if defined(__GLIBC__)
    uint64_t word[HD_DESCRIPTOR_BYTES / sizeof(uint64_t)] = {0};
    uint64_t tp = hd_machine_thread_pointer();

    hd_machine_copy(word, (const void *)(tp + HD_DESCRIPTOR_AT), sizeof word);
    for (size_t i = 0; i + 2 < sizeof word / sizeof word[0]; i++) {
        uint64_t block = word[i], size = word[i + 1], guard = word[i + 2];
        if (size < STACK_MAX && block < tp && tp - block < size && block + size - tp <= ABOVE_MAX &&
            guard < tp - block) {
            m->stack_begin = block + guard;
            m->stack_end = tp;
            return;
        }
    }
#else
    (void)m;
#endif
}

int hd_capture_thread_enter(void *memory, struct hd_mailbox **out) {
    struct hd_mailbox *m = (void *)((uint8_t *)memory + hd_capture_thread_bytes() - page_bytes());

    memset(m, 0, sizeof *m);
    m->thread = hd_thread_id_self();
    find_stack(m);
    int rc = set_alt_stack(m, memory);
    if (rc < 0) {
        return rc;
    }
    hd_capture_set_mailbox(m);
    /* The answer to the dry sample goes to the low end of the alternate stack, which the handler's frames do
     * not reach. */
    dry_sample(m, (uint8_t *)memory + page_bytes());
    *out = m;
    return 0;
}

void hd_capture_thread_closed(struct hd_mailbox *m) {
    __atomic_store_n(&m->closed, 1, __ATOMIC_RELEASE);
}

void *hd_capture_thread_leave_closed(void) {
    struct hd_mailbox *m = hd_capture_own_mailbox();
    /* The kernel wipes the mailbox in a forked child. The thread number in the mailbox then does not
     * match, and the function returns NULL. */
    bool over = m != NULL && hd_thread_id_equal(m->thread, hd_thread_id_self()) &&
                __atomic_load_n(&m->closed, __ATOMIC_ACQUIRE) != 0;
    return over && hd_capture_thread_leave(m) == 0 ? (uint8_t *)m - hd_capture_thread_bytes() + page_bytes()
                                                   : NULL;
}

int hd_capture_thread_leave(struct hd_mailbox *m) {
    stack_t now = {0};
    stack_t none = {.ss_flags = SS_DISABLE};

    hd_capture_set_mailbox(NULL);
    __atomic_store_n(&m->ended, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&m->reading, __ATOMIC_SEQ_CST) != 0) {
        /* The monitor is copying this thread's stack, which takes some microseconds. The stack must stay
         * mapped until the copy ends. */
        (void)hd_os.futex_wait(&m->reading, 1, hd_os_now_ns() + HD_NS_PER_MS, false);
    }
    if (m->alt_stack == NULL || hd_os.alt_stack(NULL, &now) < 0 || now.ss_sp != m->alt_stack) {
        return 0;
    }
    /* sigaltstack fails with -EPERM if the caller is a signal handler on the alternate stack. */
    return hd_os.alt_stack(&none, NULL) < 0 ? -EBUSY : 0;
}
