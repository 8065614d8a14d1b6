/* SPDX-License-Identifier: MIT
 *
 * What the monitor and the signal handler of one watched thread share. The handler owns the answer's fields
 * while the phase is COPYING, the monitor otherwise; `word` hands them over. A late handler finds another
 * word and leaves them. Watched thread and monitor: wait-free, async-signal-safe.
 */
#ifndef HD_MAILBOX_H
#define HD_MAILBOX_H

#include "base/types.h"
#include "os/thread_id.h"

#define HD_ALT_STACK_BYTES (64u * 1024u) /* the program's own SA_ONSTACK handlers will run on it too */
#define HD_OUTSIDE_BYTES (16u * 1024u)   /* most that is copied of a stack whose bounds are not known */

enum hd_mail_phase {
    HD_MAIL_IDLE,
    HD_MAIL_REQUESTED,
    HD_MAIL_COPYING,
    HD_MAIL_DONE
};

struct hd_mailbox {
    uint64_t word; /* atomic: sequence number << 2 | phase */

    /* the question */
    uint8_t *bytes;              /* HD_STACK_BYTES_MAX, mapped and touched */
    uint64_t stack_lo, stack_hi; /* atomic: what plain reads may touch; 0 0: nothing */

    /* the answer, away from the word that the monitor keeps reading meanwhile */
    _Alignas(64) struct hd_regs regs;
    uint64_t stack_addr;
    uint32_t stack_bytes;
    bool truncated;
    uint64_t ticks_begin, ticks_end;

    /* sums, atomic: also of signals that came too late */
    uint64_t restarted_syscalls;
    uint64_t interrupted_syscalls;

    /* the thread */
    hd_thread_id thread;
    uint64_t
        stack_begin; /* of the stack that libc gave it, as libc noted; 0: it did not, or is the main one */
    uint64_t stack_end;
    uint8_t *alt_stack; /* NULL: the program has one of its own */
    uint64_t alt_bytes; /* atomic: of the alternate stack in force, ours or the program's; 0: none */
    uint32_t reading;   /* atomic: the monitor reads the thread's stack as plain memory */
    uint32_t left;      /* atomic: the watch is over; no plain reads any more */
    uint32_t closed;    /* atomic: the monitor has seen the last of this */
};

static inline uint64_t hd_mail_word(uint32_t sequence, enum hd_mail_phase phase) {
    return (uint64_t)sequence << 2 | (uint64_t)phase;
}

/* Whether our handler's frame fits where the kernel puts it: on the alternate stack in force. Without one it
 * lies on the stack in use, which is the thread's own but for a coroutine's of a program that has handlers
 * with SA_ONSTACK and no alternate stack. Python has such handlers. */
bool hd_capture_mailbox_has_space(const struct hd_mailbox *m);

/* The handler, and who it answers to on this thread. signal_handler.c, which no sanitizer touches. */
extern const uint32_t
    *hd_capture_alive; /* 0 there: a forked child's copy. Set before the handler is installed */
void hd_capture_on_signal(int signal, void *info, void *context);
void hd_capture_restorer(void);
void hd_capture_set_mailbox(struct hd_mailbox *m);
struct hd_mailbox *hd_capture_own_mailbox(void);

/* The kernel's own struct sigaction, the same on the machines we know. */
struct hd_kernel_action {
    void *handler;
    unsigned long flags;
    void *restorer;
    uint64_t mask;
};

#endif
