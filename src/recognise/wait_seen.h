/* SPDX-License-Identifier: MIT
 *
 * One kind of wait as a value, with all facts that the rule (rule.h) uses. Waits are of one kind if they come
 * from the same call site and are for the same descriptors. If Hangdog is in the watched process, the worker
 * fills the value from the wait table. A program that watches another process fills the value from /proc.
 */
#ifndef HD_WAIT_SEEN_H
#define HD_WAIT_SEEN_H

#include "recognise/kinds.h"
#include "recognise/set.h"

/* The call site of a wait: the place on the thread's stack from which the program called the wait function.
 */
struct hd_call_site {
    /* hash of the stack pointer and of all return addresses on the stack; 0: not known */
    uint64_t stack_hash;
    /* The stack pointer at the program's call of the wait function. Stacks grow down, so a deeper call site
     * has a smaller value. */
    uint64_t sp;
    /* The stack of the call site. 0: the thread's own stack. Otherwise a coroutine's stack: the address where
     * it begins, or HD_BASE_UNKNOWN. A coroutine's stack counts as deeper than the thread's own. Two stacks
     * with HD_BASE_UNKNOWN count as different. */
    uint64_t stack_base;
    /* the number of the program's frames from the call site to the root frame; 0: not known */
    uint32_t depth;
};
#define HD_BASE_UNKNOWN 1u

/* Says whether a function that runs a loop until the loop ends is on the stack. */
enum hd_wait_enclosed {
    HD_ENCLOSED_UNKNOWN,
    HD_ENCLOSED,
    HD_NOT_ENCLOSED
};

/* The facts about a wait that the functions on the thread's stack show. */
struct hd_stack_seen {
    int8_t names;       /* enum hd_wait_evidence, by function names only: request, plain or by name */
    uint8_t enclosed;   /* enum hd_wait_enclosed */
    bool by_option;     /* true: the user's option --loop names this wait's loop (loop_option.h) */
    uint64_t call_pc;   /* an address in the wait function; 0: not known */
    uint64_t caller_pc; /* an address in the function that called the wait function; 0: not known */
};

struct hd_wait_times {
    /* The time when the first wait of this kind began. All kinds use the same clock. 0: not known. */
    uint64_t first;
    /* The number and the total time of the waits of this kind that have ended since the rule last counted
     * them. */
    uint64_t waits, waited_ns;
    uint64_t order;    /* the number of the kind's last wait, in the order of all waits of the thread */
    uint64_t ended_ns; /* the time when the kind's last wait ended */
};

struct hd_wait_seen {
    struct hd_call_site at;
    struct hd_set set;
    /* the kinds of the descriptors in `set`; not filled if the names of functions on the stack give the
     * evidence */
    struct hd_kinds kinds;
    struct hd_stack_seen stack;
    struct hd_wait_times times;
};

/* Returns the evidence of the wait. If the names of functions on the stack give evidence, they decide;
 * otherwise the kinds of descriptors decide. */
enum hd_wait_evidence hd_wait_seen_evidence(const struct hd_wait_seen *w);

/* False if the names of functions on the stack give evidence, so that the kinds of descriptors need not be
 * read. */
static inline bool hd_wait_seen_needs_kinds(const struct hd_wait_seen *w) {
    return w->stack.names == HD_WAIT_EVIDENCE_PLAIN;
}

#endif
