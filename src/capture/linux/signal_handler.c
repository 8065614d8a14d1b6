/* SPDX-License-Identifier: MIT
 *
 * The signal handler of a watched thread. It copies registers and stack bytes, repeats the system call that
 * the signal interrupted, and returns. The handler is wait-free and async-signal-safe: it looks up no
 * symbols, makes only raw system calls, calls no libc function, and leaves errno unchanged.
 *
 * This file is built without sanitizers, and a raw system call installs the handler. Otherwise the thread
 * sanitizer would delay the handler while the thread runs on a CPU.
 */
#include <signal.h>
#include <sys/uio.h>

#include "capture/arch/linux_context.h"
#include "capture/linux/own_mailbox.h"
#include "capture/linux/restartable.h"
#include "capture/linux/signal_handler.h"
#include "os/linux/syscall.h"
#include "os/ticks.h"

#if defined(__x86_64__)
/* The restorer has the same instruction bytes as libc's, because debuggers and unwinders recognise a signal's
 * frame by these bytes. */
__asm__(".text\n"
        ".p2align 4\n"
        /* unwinders look up the byte before a return address, so that byte must not belong to another
         * function */
        "nop\n"
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

static long own_memory(long call, uint64_t addr, void *buf, size_t n) {
    struct iovec local = {.iov_base = buf, .iov_len = n};
    struct iovec remote = {.iov_base = (void *)addr, .iov_len = n};
    return hd_syscall6(call, hd_syscall0(SYS_getpid), (long)&local, 1, (long)&remote, 1, 0);
}

/* Reads memory that may be unmapped. Returns the number of bytes read, or a negative errno. */
static long read_own_memory(uint64_t addr, void *buf, size_t n) {
    return own_memory(SYS_process_vm_readv, addr, buf, n);
}

static void copy_stack(struct hd_mailbox *m) {
    uint64_t lo = __atomic_load_n(&m->stack_lo, __ATOMIC_RELAXED);
    uint64_t hi = __atomic_load_n(&m->stack_hi, __ATOMIC_RELAXED);
    uint64_t sp = m->regs.sp;
    uint64_t from = sp - HD_RED_ZONE;

    /* The stack has no known bounds (it may be a coroutine's), so its pages may be unmapped. A system call
     * reads it, because at an unmapped page the call only fails, while a plain load would crash the
     * program. */
    if (sp < lo || sp >= hi) {
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

/* Returns whether the program has a handler for this signal. Sets *restarts to whether the handler has
 * SA_RESTART. */
static bool has_handler(int signal, bool *restarts) {
    struct hd_kernel_action action = {0};
    if (hd_syscall4(SYS_rt_sigaction, signal, NULL, &action, HD_KERNEL_SIGSET_BYTES) < 0) {
        return false;
    }
    *restarts = (action.flags & SA_RESTART) != 0;
    return action.handler != (void *)SIG_DFL && action.handler != (void *)SIG_IGN;
}

/* Returns whether a signal of the program is pending that will end the system call that our signal
 * interrupted. The kernel delivers that signal once our handler has returned. If `even_if_it_restarts` is
 * true, a signal whose handler has SA_RESTART counts too.
 *
 * A signal that the context's mask blocks does not count. If the call itself unblocks that signal (ppoll,
 * sigsuspend), the repeated call ends at once. A signal without a handler does not count either: the kernel
 * keeps it pending only because our handler blocks all signals.
 *
 * A signal to the whole process may still go to another thread, because this thread blocks it now. The
 * caller repair_call then ends the system call without need, so it counts each call that it ends. */
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

/* Returns whether the program has a handler that blocks our signal while that handler runs. */
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

/* Returns whether a signal of the program had ended the call before our signal came. This happens if the
 * program's handler blocks our signal: the kernel then delivers our signal as that handler returns. The bytes
 * of that handler's frame still lie below the stack pointer, and the function looks for them.
 *
 * The frame of an older signal looks the same. So the function changes one 64-bit value of a frame that it
 * finds, and each frame prevents at most one repair. The program does not miss the value: nothing uses the
 * bytes of an old frame, and any signal would overwrite them. */
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

static void count(struct hd_mailbox *m, bool repaired) {
    if (m != NULL) {
        __atomic_fetch_add(repaired ? &m->restarted_syscalls : &m->interrupted_syscalls, 1, __ATOMIC_RELAXED);
    }
}

/* Returns whether our signal may have cut the call short. The answer is also true for a call that had no more
 * bytes to transfer, because its result looks the same. */
static bool may_be_short(long nr, const ucontext_t *context) {
    unsigned bytes = hd_bytes_argument(nr, hd_machine_argument(context, 3));
    uint64_t gave = (uint64_t)hd_machine_result(context);
    return bytes != 0 && gave > HD_SHORT_BYTES && gave < hd_machine_argument(context, bytes);
}

/* Repairs the system call that our signal interrupted, so that the program does not notice our signal. Our
 * handler has SA_RESTART, so the kernel itself repeats some calls. Other calls, such as poll and nanosleep,
 * end with -EINTR, and this function repeats them. */
static void repair_call(int own, struct hd_mailbox *m, ucontext_t *context) {
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
        /* The kernel will repeat the call, because our handler has SA_RESTART. But the call must end if a
         * pending signal of the program would have ended it. */
        if (!hd_always_restarted(nr, hd_machine_argument(context, 1)) &&
            program_signal_waits(own, mask, false)) {
            count(m, false);
            hd_machine_call_end(context);
        }
        return;
    }
    bool overlaid = hd_machine_stale_frame(context) == hd_machine_own_frame(context);
    if (!overlaid && program_signal_was_here(own, context)) {
        /* the program's signal ended the call, so the call must return -EINTR, as it would without our
         * signal */
        return;
    }
    /* A system call whose number is not known, or that cannot be repeated, ends with -EINTR. So does a
     * call if our signal's frame may have overwritten the program's handler's frame, because the program's
     * signal may have ended that call. */
    if (nr < 0 || !hd_restartable(nr) || (overlaid && any_handler_masks(own))) {
        count(m, false);
        return;
    }
    /* This check is the last. A signal of the program that comes after this check finds the repeated call
     * not started yet. To the program, the signal then seems to have come just before the call. */
    bool again = !program_signal_waits(own, mask, true);
    if (again) {
        hd_machine_call_again(context, nr);
    }
    count(m, again);
}

/* Restores the default action in a forked child. The child inherits the handler but none of our threads, and
 * finds our memory wiped. */
static void leave_to_child(int signal) {
    const struct hd_kernel_action none = {0};
    (void)hd_syscall4(SYS_rt_sigaction, signal, &none, NULL, HD_KERNEL_SIGSET_BYTES);
}

void hd_capture_on_signal(int signal, void *info, void *context) {
    uint64_t begin = hd_ticks_read();
    const siginfo_t *why = info;
    struct hd_mailbox *m = hd_mailbox_own;
    bool answer = false;
    uint32_t sequence = 0;
    /* At RLIMIT_SIGPENDING the kernel drops the request's number, which our signal carries. A signal
     * without a number belongs to the request in the mailbox. */
    bool without_value = why->si_code == SI_USER && why->si_pid == 0;
    bool ours = without_value || (why->si_code == SI_QUEUE && why->si_pid == (pid_t)*hd_capture_alive);

    if (*hd_capture_alive == 0) {
        leave_to_child(signal);
        return;
    }
    /* The signal comes from another sender: it may be SIGURG for TCP's urgent data. The handler does not
     * repair the interrupted call, because a repeated call would start its timeout again. */
    if (!ours) {
        return;
    }
    if (m != NULL) {
        sequence = without_value ? (uint32_t)(__atomic_load_n(&m->word, __ATOMIC_RELAXED) >> 2)
                                 : (uint32_t)(uintptr_t)why->si_value.sival_ptr;
        uint64_t requested = hd_mail_word(sequence, HD_MAIL_REQUESTED);
        answer = __atomic_compare_exchange_n(&m->word, &requested, hd_mail_word(sequence, HD_MAIL_COPYING),
                                             false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
    }
    if (answer) {
        hd_machine_context_regs(&m->regs, context);
        copy_stack(m);
    }
    repair_call(signal, m, context);
    if (answer) {
        m->ticks_begin = begin;
        m->ticks_end = hd_ticks_read();
        __atomic_store_n(&m->word, hd_mail_word(sequence, HD_MAIL_DONE), __ATOMIC_RELEASE);
    }
}
