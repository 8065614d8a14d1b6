/* SPDX-License-Identifier: MIT
 *
 * What runs on a watched thread when it is asked for its stack: copies registers and stack bytes, undoes what
 * the signal broke, returns. Handler: wait-free, async-signal-safe; looks nothing up, calls no function of
 * libc, touches no errno (its few system calls are raw). Compiled without sanitizers, and installed without
 * libc: the thread sanitizer would put it off for as long as a thread computes.
 */
#include <signal.h>
#include <sys/uio.h>

#include "capture/arch/machine.h"
#include "capture/linux/restartable.h"
#include "capture/linux/signal_handler.h"
#include "os/linux/syscall.h"
#include "os/ticks.h"

/* Initial-exec (or local): reading it allocates nothing. */
static __thread struct hd_mailbox *volatile own_mailbox __attribute__((tls_model("initial-exec")));

#if defined(__x86_64__)
/* The same bytes as libc's, by which debuggers and unwinders know a signal's frame. */
__asm__(".text\n"
        ".p2align 4\n"
        "nop\n" /* unwinders look one byte before a return address */
        ".globl hd_capture_restorer\n"
        ".hidden hd_capture_restorer\n"
        ".type hd_capture_restorer, @function\n"
        "hd_capture_restorer:\n"
        "    mov $15, %rax\n"
        "    syscall\n"
        ".size hd_capture_restorer, . - hd_capture_restorer\n");
#else
__asm__(".text\n"
        ".p2align 4\n"
        "nop\n"
        ".globl hd_capture_restorer\n"
        ".hidden hd_capture_restorer\n"
        ".type hd_capture_restorer, %function\n"
        "hd_capture_restorer:\n"
        "    mov x8, #139\n"
        "    svc #0\n"
        ".size hd_capture_restorer, . - hd_capture_restorer\n");
#endif

const uint32_t *hd_capture_alive;

void hd_capture_set_mailbox(struct hd_mailbox *m) {
    own_mailbox = m;
}

struct hd_mailbox *hd_capture_own_mailbox(void) {
    return own_mailbox;
}

static long own_memory(long call, uint64_t addr, void *buf, size_t n) {
    struct iovec local = {.iov_base = buf, .iov_len = n};
    struct iovec remote = {.iov_base = (void *)addr, .iov_len = n};
    return hd_syscall6(call, hd_syscall0(SYS_getpid), (long)&local, 1, (long)&remote, 1, 0);
}

/* Memory that may not be there: bytes, or negative. */
static long read_own_memory(uint64_t addr, void *buf, size_t n) {
    return own_memory(SYS_process_vm_readv, addr, buf, n);
}

static void copy_stack(struct hd_mailbox *m) {
    uint64_t lo = __atomic_load_n(&m->stack_lo, __ATOMIC_RELAXED);
    uint64_t hi = __atomic_load_n(&m->stack_hi, __ATOMIC_RELAXED);
    uint64_t sp = m->regs.sp;
    uint64_t from = sp - HD_RED_ZONE;

    if (sp < lo || sp >= hi) { /* a coroutine's stack, say: it may end anywhere */
        long n = read_own_memory(from, m->bytes, HD_OUTSIDE_BYTES);
        if (n < 0) {
            from = sp;
            n = read_own_memory(from, m->bytes, 4096 - (sp & 4095));
        }
        m->stack_addr = from;
        m->stack_bytes = n > 0 ? (uint32_t)n : 0;
        m->truncated = true;
        return;
    }
    from = from < lo ? lo : from;
    uint64_t n = hi - from;
    m->truncated = n > HD_STACK_BYTES_MAX;
    n = m->truncated ? HD_STACK_BYTES_MAX : n;
    hd_machine_copy(m->bytes, (const void *)from, n);
    m->stack_addr = from;
    m->stack_bytes = (uint32_t)n;
}

/* Whether this signal, pending, will run a handler; *restarts: which lets calls be made again. */
static bool has_handler(int signal, bool *restarts) {
    struct hd_kernel_action action = {0};
    if (hd_syscall4(SYS_rt_sigaction, signal, NULL, &action, HD_KERNEL_SIGSET_BYTES) < 0) {
        return false;
    }
    *restarts = (action.flags & SA_RESTART) != 0;
    return action.handler != (void *)SIG_DFL && action.handler != (void *)SIG_IGN;
}

/* Whether a signal of the program's own waits behind ours, to be handled as soon as the context's mask is
 * back: it ends the call (any handler), or ends it unless the call is one that its handler lets restart. A
 * signal that the context's mask keeps out does not count: where the call itself lets it in (ppoll,
 * sigsuspend), making the call again ends it at once. Nor does one that nobody handles: it is blocked now, so
 * the kernel keeps even those. One that was sent to the process may still go to another thread, since ours
 * holds everything back here; so a call that ends for any of them is counted. */
static bool program_signal_waits(int own, uint64_t context_mask, bool even_if_it_restarts) {
    uint64_t pending = 0;

    if (hd_syscall2(SYS_rt_sigpending, &pending, HD_KERNEL_SIGSET_BYTES) < 0) {
        return true;
    }
    pending &= ~context_mask & ~(1ULL << (own - 1));
    while (pending != 0) {
        int signal = __builtin_ctzll(pending) + 1;
        bool restarts = false;
        if (has_handler(signal, &restarts) && (even_if_it_restarts || !restarts)) {
            return true;
        }
        pending &= pending - 1;
    }
    return false;
}

/* Whether the program has a handler that holds ours back while it runs. */
static bool any_handler_masks(int own) {
    for (int signal = 1; signal <= 64; signal++) {
        struct hd_kernel_action action = {0};
        if (signal != own &&
            hd_syscall4(SYS_rt_sigaction, signal, NULL, &action, HD_KERNEL_SIGSET_BYTES) == 0 &&
            action.handler != (void *)SIG_DFL && action.handler != (void *)SIG_IGN &&
            (action.mask >> (own - 1) & 1) != 0) {
            return true;
        }
    }
    return false;
}

/* Whether a signal of the program's own had ended the call before ours came: ours was held back by that
 * handler's mask and is delivered as the handler returns, to the very context that the handler had
 * interrupted. Its frame then still lies below the stack. An old frame, from an earlier turn, looks the same;
 * so the word that tells is changed (nothing that lives is there: any signal would overwrite it), and each
 * true -EINTR can cost one of ours at most, to a program that has just had one from this very call. */
static bool program_signal_was_here(int own, const ucontext_t *context) {
    struct hd_machine_frame stale = {0};
    uint64_t none = 0;
    uint64_t at = hd_machine_stale_frame(context);

    if (at == 0 || own_memory(SYS_process_vm_readv, at, &stale, sizeof stale) != (long)sizeof stale ||
        !hd_machine_same_place(context, &stale) || !any_handler_masks(own)) {
        return false;
    }
    (void)own_memory(SYS_process_vm_writev, at + HD_STALE_MARK, &none, sizeof none);
    return true;
}

static void count(struct hd_mailbox *m, bool mended) {
    if (m != NULL) {
        __atomic_fetch_add(mended ? &m->restarted_syscalls : &m->interrupted_syscalls, 1, __ATOMIC_RELAXED);
    }
}

/* Whether a call that has done a part of its work may have been kept from the rest by our signal. It cannot
 * be told from one that had no more to give. */
static bool may_be_short(long nr, const ucontext_t *context) {
    unsigned bytes = hd_bytes_argument(nr, hd_machine_argument(context, 3));
    uint64_t gave = (uint64_t)hd_machine_result(context);
    return bytes != 0 && gave > HD_SHORT_BYTES && gave < hd_machine_argument(context, bytes);
}

/* SA_RESTART makes the kernel repeat some calls; the others (poll, epoll_wait, nanosleep, …) end with -EINTR.
 */
static void mend_call(int own, struct hd_mailbox *m, ucontext_t *context) {
    uint64_t mask = 0;
    long nr;
    enum hd_machine_call call = hd_machine_call_at(context, read_own_memory, &nr);

    if (call == HD_CALL_NONE || (call == HD_CALL_RESTARTED && !hd_restartable(nr))) {
        return;
    }
    if (call == HD_CALL_GAVE) {
        if (may_be_short(nr, context)) {
            count(m, false);
        }
        return;
    }
    hd_machine_copy(&mask, &context->uc_sigmask, sizeof mask);
    if (call == HD_CALL_RESTARTED) {
        if (!hd_always_restarted(nr, hd_machine_argument(context, 1)) &&
            program_signal_waits(own, mask, false)) {
            count(m, false);
            hd_machine_call_end(context);
        }
        return;
    }
    bool overlaid = hd_machine_stale_frame(context) == hd_machine_own_frame(context);
    if (!overlaid && program_signal_was_here(own, context)) {
        return; /* the call ends as it would without us */
    }
    /* Where ours lies on the same stack nobody can tell; the program's word must not get lost. */
    if (nr < 0 || !hd_restartable(nr) || (overlaid && any_handler_masks(own))) {
        count(m, false);
        return;
    }
    /* The last look: a signal that comes between it and our return finds the call not begun yet. A program
     * cannot tell that from having been a moment slower. */
    bool again = !program_signal_waits(own, mask, true);
    if (again) {
        hd_machine_call_again(context, nr);
    }
    count(m, again);
}

/* A forked child has this handler and none of our threads: its memory of ours is wiped. */
static void leave_to_child(int signal) {
    const struct hd_kernel_action none = {0};
    (void)hd_syscall4(SYS_rt_sigaction, signal, &none, NULL, HD_KERNEL_SIGSET_BYTES);
}

void hd_capture_on_signal(int signal, void *info, void *context) {
    uint64_t begin = hd_ticks_read();
    const siginfo_t *why = info;
    struct hd_mailbox *m = own_mailbox;
    bool answer = false;
    uint32_t sequence = 0;
    /* the kernel had no room for what we sent with it (RLIMIT_SIGPENDING): the thread that is asked is meant
     */
    bool emptied = why->si_code == SI_USER && why->si_pid == 0;
    bool ours = emptied || (why->si_code == SI_QUEUE && why->si_pid == (pid_t)*hd_capture_alive);

    if (*hd_capture_alive == 0) {
        leave_to_child(signal);
        return;
    }
    if (!ours) { /* TCP's urgent data: what it breaks stays broken, or its timeout would start anew */
        return;
    }
    if (m != NULL) {
        sequence = emptied ? (uint32_t)(__atomic_load_n(&m->word, __ATOMIC_RELAXED) >> 2)
                           : (uint32_t)(uintptr_t)why->si_value.sival_ptr;
        uint64_t requested = hd_mail_word(sequence, HD_MAIL_REQUESTED);
        answer = __atomic_compare_exchange_n(&m->word, &requested, hd_mail_word(sequence, HD_MAIL_COPYING),
                                             false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
    }
    if (answer) {
        hd_machine_context_regs(&m->regs, context);
        copy_stack(m);
    }
    mend_call(signal, m, context);
    if (answer) {
        m->ticks_begin = begin;
        m->ticks_end = hd_ticks_read();
        __atomic_store_n(&m->word, hd_mail_word(sequence, HD_MAIL_DONE), __ATOMIC_RELEASE);
    }
}
