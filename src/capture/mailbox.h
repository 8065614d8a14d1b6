/* SPDX-License-Identifier: MIT
 *
 * The memory that the monitor and the signal handler of one watched thread share. The handler owns the answer
 * while the phase is COPYING, the monitor at all other times; `word` passes it from one to the other. A late
 * handler finds another word and leaves the answer as it is. Watched thread and monitor: wait-free,
 * async-signal-safe.
 */
#ifndef HD_MAILBOX_H
#define HD_MAILBOX_H

#include "base/types.h"
#include "os/thread_id.h"

#define HD_STACK_BYTES_MAX (64u * 1024u) /* most that one capture copies */
#define HD_ALT_STACK_BYTES (64u * 1024u) /* the program's own handlers with SA_ONSTACK run on it too */
#define HD_OUTSIDE_BYTES (16u * 1024u)   /* most that the handler copies of a stack without known bounds */

enum hd_mail_phase {
    HD_MAIL_IDLE,
    HD_MAIL_REQUESTED,
    HD_MAIL_COPYING,
    HD_MAIL_DONE
};

struct hd_mailbox {
    uint64_t word; /* atomic: number of the request << 2 | phase */

    /* the request */
    uint8_t *bytes;              /* HD_STACK_BYTES_MAX, mapped and touched */
    uint64_t stack_lo, stack_hi; /* atomic: plain loads are safe between them; 0 0: nowhere */

    /* the answer, in other cache lines than the word: the monitor keeps reading the word meanwhile */
    _Alignas(64) struct hd_regs regs;
    uint64_t stack_addr;
    uint32_t stack_bytes;
    bool truncated;
    uint64_t ticks_begin, ticks_end;

    /* sums, atomic: late signals are counted too */
    uint64_t restarted_syscalls;
    uint64_t interrupted_syscalls;

    /* the thread */
    hd_thread_id thread;
    uint64_t stack_begin; /* of the stack that libc gave the thread, from libc's descriptor; 0: not known */
    uint64_t stack_end;
    uint8_t *alt_stack; /* ours; NULL: the program has an alternate stack */
    uint64_t alt_bytes; /* atomic: size of the alternate stack in force; 0: there is no such stack */
    uint32_t reading;   /* atomic: the monitor reads the thread's stack by plain loads */
    uint32_t ended;     /* atomic: the thread has ended the watch: no plain loads from now on */
    uint32_t closed;    /* atomic: the monitor does not use the mailbox any more */
};

static inline uint64_t hd_mail_word(uint32_t sequence, enum hd_mail_phase phase) {
    return (uint64_t)sequence << 2 | (uint64_t)phase;
}

#endif
