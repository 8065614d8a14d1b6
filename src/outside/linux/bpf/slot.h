/* SPDX-License-Identifier: MIT
 *
 * The values that the BPF programs (waits.bpf.c) and the hook share. Each watched thread has a slot, which
 * the hook reads in mapped memory. One writer a member: the BPF programs run on the slot's own thread.
 */
#ifndef HD_SLOT_H
#define HD_SLOT_H

#include <linux/types.h>

#define HD_SLOT_KINDS 16u
#define HD_WATCHED_BITS 65536u /* one bit for all threads with equal low bits of their numbers */
#define HD_CALLS 512u
#define HD_STACK_STEP 1024u
#define HD_STACK_COPY (24u * HD_STACK_STEP)
#define HD_REGISTERS 33u
/* If the turns of a loop are usually shorter, a turn began when the thread was last blocked in its wait. */
#define HD_USUAL_EXACT_NS 500000ULL

/* How a wait call says for how long it may block. */
enum hd_call_class {
    HD_CALL_NO_WAIT,
    HD_CALL_EPOLL_MS, /* argument 4: milliseconds */
    HD_CALL_EPOLL_AT, /* argument 4: address of a time; 0: no limit */
    HD_CALL_POLL_MS,  /* argument 3 */
    HD_CALL_POLL_AT,
    HD_CALL_SELECT_AT, /* argument 5 */
    HD_CALL_URING,
    HD_CALL_RESTART /* the kernel repeats a wait after a stop */
};

/* `verdict`: generation << 2 | enum hd_wait_verdict. The generation changes when the kind is replaced. */
struct hd_slot_kind {
    __u64 pc, sp, object; /* with `nr` and `arg` the key of the kind */
    __u64 first_ns, ended_ns;
    __u64 waited_ns; /* of the waits that may block, as `waits` */
    __u64 order;
    __u32 waits;
    __s32 nr;
    __u32 arg;
    __u32 verdict;
};

struct hd_slot {
    __u64 in;       /* the wait that is not over: begin << 5 | (kind + 1); 0: none */
    __u64 since_ns; /* end of the loop's last wait; 0: not known */
    __u64 turns, longest_ns, busy_ns;
    __u64 usual_ns;   /* moving average of turns that are not long */
    __u64 off_ns;     /* the thread has no CPU since then, and is not ready to run; 0: it has */
    __u64 suspect_ns; /* all calls of the thread are seen since then; 0: they are not */
    __u64 ended_ns;   /* the thread has ended */
    __u64 order;
    __u64 sight_ns; /* when the next first sight is due */
    __u32 tid;
    __u8 last;    /* the kind of the last wait */
    __u8 blocks;  /* the wait that is not over may block */
    __u8 by_call; /* the wait that is not over began by its call, not by a switch */
    __u8 blocked; /* the thread was blocked in the loop's last wait */
    __u8 seeded;  /* no call of this thread has been seen: it was in a call when the watch began */
    __u8 next;    /* the place of the next kind */
    __u8 free[6];
    struct hd_slot_kind kind[HD_SLOT_KINDS];
} __attribute__((aligned(64))); /* the hook scans the first members of all slots */

enum hd_record_type {
    HD_RECORD_SIGHT,
    HD_RECORD_TURN,
    HD_RECORD_BEGAN,
    HD_RECORD_ENDED,
    HD_RECORD_EXEC,
    HD_RECORD_CLEARED /* a suspect has been seen in its loop's wait */
};

struct hd_record_head {
    __u32 type; /* enum hd_record_type */
    __u32 pid, tid;
    __u32 generation; /* of a sight's kind */
    __u64 at_ns;      /* begin of a wait, or of a turn */
    __u64 end_ns, earlier_ns;
};

struct hd_record_sight {
    struct hd_record_head head;
    __u32 kind;
    __s32 nr;
    __u32 blocks;
    __u32 stack_bytes;
    __u64 args[6];
    __u64 object, pc, sp, stack_addr;
    __u64 valid; /* bit n: regs[n] has the program's value */
    __u64 regs[HD_REGISTERS];
    __u8 stack[HD_STACK_COPY];
};

#endif
