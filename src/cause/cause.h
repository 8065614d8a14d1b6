/* SPDX-License-Identifier: MIT
 *
 * Decides the cause of a hang: the kind of work, or of blocking, that took most of the turn's time. Pure: no
 * allocation, no system call.
 */
#ifndef HD_CAUSE_H
#define HD_CAUSE_H

#include "cause/probe_context.h"
#include "cause/weighing.h"

/* The largest number of threads in a deadlock; Hangdog does not report a deadlock of more threads. */
#define HD_DEADLOCK_MAX 8

struct hd_cause {
    uint8_t kind;               /* enum hd_cause_kind */
    double share;               /* the cause's part of the turn's time, from 0 to 1 */
    int32_t syscall_nr;         /* the blocked system call that the sentence names */
    char path[64];              /* base name of the file that this call works on; may lack a NUL */
    char peer[64];              /* name or address of the peer that the thread waited for; may lack a NUL */
    struct hd_party_seen party; /* the other party of the thread's wait */
    int32_t child_pid;          /* process id of the child that the thread waited for; 0: none */
    uint64_t run_delay_ns;      /* the time that the thread waited for a CPU */
    uint64_t throttled_ns, major_faults;
    /* For each resource in enum hd_pressure: how long some task of the process's control group waited for the
     * resource while Hangdog tracked the turn. */
    uint64_t stall_ns[HD_PRESSURES];
    /* The memory that the process's control group uses, and the group's memory limit, in bytes. Both are 0 if
     * the group has no limit. */
    uint64_t memory_used, memory_limit;
    uint64_t lock_address;
    hd_thread_id lock_owner;
    uint8_t lock_kind; /* enum hd_lock_kind */
    hd_thread_id deadlock[HD_DEADLOCK_MAX];
    uint32_t deadlock_count;
    char detail[192]; /* the sentence that explains the cause to the user */
};

/* Fills *out with the cause that has most of the time in `s`, and with its sentence. Sets throttled_ns,
 * major_faults, stall_ns, memory_used, memory_limit and the deadlock to 0; the caller fills them later. */
void hd_cause_decide(const struct hd_cause_sums *s, struct hd_cause *out);

#endif
