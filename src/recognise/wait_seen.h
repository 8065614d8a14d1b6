/* SPDX-License-Identifier: MIT
 *
 * One kind of wait as a value, with all facts that the rule uses. Waits are of one kind if they come from the
 * same call site and are for the same descriptors. The preload's worker fills the value from the wait table.
 * A program that watches another process fills it from /proc.
 */
#ifndef HD_WAIT_SEEN_H
#define HD_WAIT_SEEN_H

#include "recognise/kinds.h"
#include "recognise/set.h"

/* The call site of a wait: where on its stack the thread waits. */
struct hd_call_site {
    uint64_t stack_hash; /* hash of the stack pointer and of all return addresses; 0: not known */
    /* stack pointer of the caller; stacks grow down, so a deeper call site has a smaller one */
    uint64_t sp;
    /* The stack. 0: the thread's own. Otherwise the address where a coroutine's stack begins, or
     * HD_BASE_UNKNOWN. A coroutine's stack counts as deeper than the thread's own. Two stacks of unknown base
     * have no order. */
    uint64_t stack_base;
    uint32_t depth; /* the number of the program's frames from here to the root frame; 0: not known */
};
#define HD_BASE_UNKNOWN 1u

/* Whether the stack has a function that runs a loop until the loop ends. */
enum hd_wait_enclosed {
    HD_ENCLOSED_UNKNOWN,
    HD_ENCLOSED,
    HD_NOT_ENCLOSED
};

/* Facts that the functions on the stack give. */
struct hd_stack_seen {
    int8_t names;       /* enum hd_wait_evidence, by the names only: request, plain or by name */
    uint8_t enclosed;   /* enum hd_wait_enclosed */
    bool by_option;     /* true: the user's option --loop names this wait's loop (loop_option.h) */
    uint64_t call_pc;   /* an address in the function that waits; 0: not known */
    uint64_t caller_pc; /* an address in the program's function that called it; 0: not known */
};

struct hd_wait_times {
    /* The time when the first wait of this kind began, by one clock for all kinds. 0: not known. */
    uint64_t first;
    /* The number and the time of the waits that have ended since the rule last counted this kind. */
    uint64_t waits, waited_ns;
    uint64_t order;    /* the number of the last of these waits, in the order of all waits of the thread */
    uint64_t ended_ns; /* the time when the last of these waits ended */
};

struct hd_wait_seen {
    struct hd_call_site at;
    struct hd_set set;
    struct hd_kinds kinds; /* the kinds of the set's descriptors; not read where function names decide */
    struct hd_stack_seen stack;
    struct hd_wait_times times;
};

/* The evidence of the wait: by function names if these decide, otherwise by the kinds of descriptors. */
enum hd_wait_evidence hd_wait_seen_evidence(const struct hd_wait_seen *w);

/* False: function names decide, and the kinds of descriptors need not be read. */
static inline bool hd_wait_seen_needs_kinds(const struct hd_wait_seen *w) {
    return w->stack.names == HD_WAIT_EVIDENCE_PLAIN;
}

#endif
