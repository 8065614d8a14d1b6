/* SPDX-License-Identifier: MIT
 *
 * The cause of a hang: the kind of work or wait that has most of the turn's time. Pure: no allocation, no
 * system call.
 */
#ifndef HD_CAUSE_H
#define HD_CAUSE_H

#include "cause/probe_context.h"
#include "cause/weighing.h"

#define HD_DEADLOCK_MAX 8 /* threads of a ring; a longer ring is not reported */

struct hd_cause {
    uint8_t kind;          /* enum hd_cause_kind */
    double share;          /* of the turn's time */
    int32_t syscall_nr;    /* of the wait that weighed most within the kind */
    char path[64];         /* base name of a file; may lack a NUL */
    char peer[64];         /* may lack a NUL */
    int32_t child_pid;     /* 0: none */
    uint64_t run_delay_ns; /* the thread waited for a CPU */
    uint64_t throttled_ns, major_faults;
    uint64_t stall_ns[HD_PRESSURES];    /* some task of the process's group waited */
    uint64_t memory_used, memory_limit; /* of the group; 0: the group has no limit */
    uint64_t lock_address;
    int32_t lock_owner_tid;
    uint8_t lock_kind; /* enum hd_lock_kind */
    int32_t deadlock[HD_DEADLOCK_MAX];
    uint32_t deadlock_count;
    char detail[192]; /* a sentence for the user */
};

/* The caller fills throttled_ns, major_faults, stall_ns, memory_used, memory_limit and the deadlock; here
 * they become zeros. */
void hd_cause_decide(const struct hd_cause_sums *s, struct hd_cause *out);

#endif
