/* SPDX-License-Identifier: MIT
 *
 * One kind of wait, as a value: everything that the rule knows of it. The preload's worker fills it from the
 * wait table; a program that watches another process fills it from /proc. Waits are of one kind if they come
 * from the same call site and are for the same descriptors.
 */
#ifndef HD_WAIT_SEEN_H
#define HD_WAIT_SEEN_H

#include "recognise/kinds.h"
#include "recognise/set.h"

/* Where on its stack a thread waits. */
struct hd_call_site {
    uint64_t stack_hash; /* of all return addresses and the stack pointer; 0: not known */
    uint64_t sp;         /* stack pointer of the caller. Stacks grow down: a deeper one is smaller */
    uint64_t stack_base; /* 0: the thread's own stack; else where a coroutine's stack begins, or
                            HD_BASE_UNKNOWN. A coroutine's stack counts as deeper than the thread's own; two
                            of unknown base have no order */
    uint32_t depth;      /* the program's frames from here to the root; 0: not known */
};
#define HD_BASE_UNKNOWN 1u

/* Whether a function that runs a loop to its end is on the stack. */
enum hd_wait_enclosed {
    HD_ENCLOSED_UNKNOWN,
    HD_ENCLOSED,
    HD_NOT_ENCLOSED
};

/* Facts from the functions on the stack. */
struct hd_stack_seen {
    int8_t names;       /* enum hd_wait_evidence that names give: request, plain or by name */
    uint8_t enclosed;   /* enum hd_wait_enclosed */
    bool by_option;     /* the user says that this wait is the loop's (loop_option.h) */
    uint64_t call_pc;   /* in the function that waits, 0: not known */
    uint64_t caller_pc; /* in the program's function that calls it, 0: not known */
};

struct hd_wait_times {
    uint64_t first; /* when the first of these waits began, by one clock for all kinds; 0: not known */
    /* The waits that ended since the rule last counted this kind. */
    uint64_t waits, waited_ns;
    uint64_t order;    /* number of the last one among the thread's waits */
    uint64_t ended_ns; /* when the last one ended */
};

struct hd_wait_seen {
    struct hd_call_site at;
    struct hd_set set;
    struct hd_kinds kinds; /* of the set's descriptors; not needed where names decide */
    struct hd_stack_seen stack;
    struct hd_wait_times times;
};

/* Names decide before kinds do. */
enum hd_wait_evidence hd_wait_seen_evidence(const struct hd_wait_seen *w);

/* False: names decide, and the kinds need not be read. */
static inline bool hd_wait_seen_needs_kinds(const struct hd_wait_seen *w) {
    return w->stack.names == HD_WAIT_EVIDENCE_PLAIN;
}

#endif
