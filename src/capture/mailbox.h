/* SPDX-License-Identifier: MIT
 *
 * A mailbox passes the monitor's requests for a stack to the signal handler of one watched thread, and the
 * answers back. `word` has the number and the phase of the request. The handler owns the answer while the
 * phase is COPYING, the monitor in all other phases. A handler that runs too late sees in `word` that its
 * request is over, and leaves the answer unchanged. Watched thread and monitor: wait-free, async-signal-safe.
 */
#ifndef HD_MAILBOX_H
#define HD_MAILBOX_H

#include "base/types.h"
#include "os/thread_id.h"

#define HD_STACK_BYTES_MAX (64u * 1024u) /* the most bytes that one capture copies of a stack */
/* the size of the alternate signal stack that Hangdog gives a watched thread, on which the program's
 * handlers with SA_ONSTACK run too */
#define HD_ALT_STACK_BYTES (64u * 1024u)
/* the most bytes that the handler copies of a stack without known bounds */
#define HD_OUTSIDE_BYTES (16u * 1024u)

enum hd_mail_phase {
    HD_MAIL_IDLE,
    HD_MAIL_REQUESTED,
    HD_MAIL_COPYING,
    HD_MAIL_DONE
};

struct hd_mailbox {
    uint64_t word; /* atomic: the request's number << 2 | enum hd_mail_phase */

    /* The request. The monitor writes it before the phase becomes REQUESTED. */
    /* the buffer to which the handler copies the stack: HD_STACK_BYTES_MAX bytes, all present in memory */
    uint8_t *bytes;
    /* atomic: between these addresses the handler may read the stack by plain loads; 0 0: nowhere */
    uint64_t stack_lo, stack_hi;

    /* The answer. It has cache lines of its own, because the monitor reads `word` again and again while
     * the handler writes the answer. */
    _Alignas(64) struct hd_regs regs;
    uint64_t stack_addr;
    uint32_t stack_bytes;
    bool truncated;
    uint64_t ticks_begin, ticks_end; /* the CPU's tick counter at the handler's start and end */

    /* Two numbers of interrupted system calls: those that the handler repeated, and those that it did not.
     * Calls that a late signal interrupted count too. Atomic. */
    uint64_t restarted_syscalls;
    uint64_t interrupted_syscalls;

    /* The watched thread and its stacks. */
    hd_thread_id thread;
    /* The bounds of the stack that libc gave the thread, from libc's thread descriptor; 0: not known. */
    uint64_t stack_begin;
    uint64_t stack_end;
    uint8_t *alt_stack; /* the alternate signal stack that Hangdog gave the thread; NULL: none */
    /* The size of the thread's alternate signal stack, Hangdog's or the program's; 0: the thread has none.
     * Atomic. */
    uint64_t alt_bytes;
    /* 1 while the monitor reads the thread's stack by plain loads: during that time the stack must stay
     * mapped. Atomic. */
    uint32_t reading;
    /* 1 once the thread has ended the watch: from then on, the monitor does not read the stack by plain
     * loads. Atomic. */
    uint32_t ended;
    /* 1 once the monitor does not use the mailbox any more. Atomic. */
    uint32_t closed;
};

static inline uint64_t hd_mail_word(uint32_t sequence, enum hd_mail_phase phase) {
    return (uint64_t)sequence << 2 | (uint64_t)phase;
}

/* The first function sets the calling thread's mailbox, and the second returns it. NULL: the thread has
 * none. */
void hd_capture_set_mailbox(struct hd_mailbox *m);
struct hd_mailbox *hd_capture_own_mailbox(void);

#endif
