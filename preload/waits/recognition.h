/* SPDX-License-Identifier: MIT
 *
 * Worker: what the identities of a thread's waits mean. Reads the stacks that the thread left and the
 * descriptors behind the numbers, applies the rule, gives verdicts. No allocation.
 */
#ifndef HD_RECOGNISE_H
#define HD_RECOGNISE_H

#include "image/functions.h"
#include "preload/waits/wait_table.h"
#include "recognise/known_functions.h"
#include "recognise/loop_option.h"
#include "unwind/unwind.h"
#include "watch/recogniser.h"

struct hd_known_wait {
    uint32_t uses; /* of the place in the table that this is about */
    bool known;
    struct hd_wait_descriptors objects;
    bool by_option; /* the user says that it is the loop's */
    struct hd_seen_wait seen;
    uint64_t waits, ticks;       /* already told to the rule */
    uint64_t call_pc, caller_pc; /* in the call, and in the function that made it; 0: not known */
};

struct hd_recognition {
    struct hd_rule_state rule;
    struct hd_functions known_functions;
    struct hd_loop_option option; /* in place of the rule */
    struct hd_known_wait entry[HD_WAIT_ENTRIES];
    _Atomic uint64_t order;      /* of the last wait that the rule was told of */
    _Atomic uint64_t idle_order; /* the same, when its loop was last found idle */
    _Atomic uint64_t looked_ns;  /* when it last was; 0: not yet */
    _Atomic bool look_soon;      /* the loop was found closed for the first time */
    bool closed;                 /* and so it was at the last look */
    uint64_t rule_changes;
    uint32_t standing;   /* enum hd_record_certainty */
    uint32_t generation; /* of the watch when it last was looked at */
};

/* A thread that is not watched yet, with its recognition, which is not ready; NULL: no memory. */
struct hd_wait_table *hd_wait_table_new(void);

/* The same of one that was watched: neither monitor nor worker looks at it. The two pointers stay, and what
 * the thread's recognition knows until hd_recognition_init(). */
void hd_wait_table_forget(struct hd_wait_table *t);

void hd_recognition_init(struct hd_recognition *g, const struct hd_record *record);

/* What the identities that are known have waited in all: about, for old ones are forgotten. */
uint64_t hd_recognition_waited_ns(const struct hd_wait_table *t);

/* Where the loop waits; without a loop, where most waits came from. False: not known. */
bool hd_recognition_candidate(const struct hd_wait_table *t, uint64_t *call_pc, uint64_t *caller_pc);

/* The monitor: is there something to recognise? `waits`: struct hd_wait_table. */
bool hd_recognition_due(void *waits, uint64_t now_ns);
/* The worker: a sample found the thread blocked. Sets `standing`. */
void hd_recognition_blocked(struct hd_wait_table *t, struct hd_blocked *how);
/* The worker: does it, and sets `standing`; in a program that ends, for the last time. */
void hd_recognition_judge(void *waits, const struct hd_stack_tools *tools);
/* The worker: the thread has ended. What is held of a loop that was none, or is in doubt, goes: another
 * thread's loop would have it shown at the end. */
void hd_recognition_end(struct hd_wait_table *t, const struct hd_stack_tools *tools);

#endif
