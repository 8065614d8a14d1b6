/* SPDX-License-Identifier: MIT
 *
 * The worker's side of a wait table. From an entry's sums and from a copy of the stack the worker fills a
 * struct hd_wait_seen for each entry. The functions of src/recognise judge these values, and the verdicts go
 * into the entries. No allocation, no lock.
 */
#ifndef HD_RECOGNITION_H
#define HD_RECOGNITION_H

#include "image/functions.h"
#include "preload/waits/wait_table.h"
#include "recognise/judge.h"
#include "watch/recogniser.h"

/* The worker's knowledge of one entry. */
struct hd_known_wait {
    bool known;
    uint32_t uses; /* the entry's, when the stack was copied; the entry has a new key if they differ now */
    struct hd_wait_descriptors descriptors;
    struct hd_wait_seen seen;
    uint64_t counted_waits, counted_ticks; /* sums of the entry that the rule has counted */
};

struct hd_recognition {
    struct hd_judge judge;
    struct hd_functions known_functions;
    struct hd_known_wait entry[HD_WAIT_ENTRIES];
    struct hd_recognition_progress { /* the worker's; the monitor reads it */
        _Atomic uint64_t order;      /* the thread's last wait that the rule has counted */
        _Atomic uint64_t idle_order; /* the same, at the last judgement that found the loop idle */
        _Atomic uint64_t judged_ns;  /* the last judgement; 0: none yet */
        _Atomic bool
            again_soon; /* the loop's files were closed at the last judgement, and open at the one before */
    } progress;
    bool closed;           /* the last judgement found the loop's files closed */
    uint64_t rule_changes; /* judge.rule.changes at the last judgement */
    uint32_t certainty;    /* enum hd_record_certainty */
    uint32_t generation;   /* the watch's, at the last judgement */
};

/* The table of a thread that is not watched yet. Its recognition needs hd_recognition_init. NULL: no memory.
 * The table is never freed. */
struct hd_wait_table *hd_wait_table_new(void);

/* Empties the table, as if its thread had never waited. Neither the monitor nor the worker may use
 * it meanwhile. The recognition stays as it is. */
void hd_wait_table_forget(struct hd_wait_table *t);

void hd_recognition_init(struct hd_recognition *g, const struct hd_record *record);

/* Time of all waits that the table still has; entries that gave way are missing. */
uint64_t hd_recognition_waited_ns(const struct hd_wait_table *t);

/* Where the loop waits; if no loop is known, where most waits came from. False: the worker has read no stack
 * yet. */
bool hd_recognition_candidate(const struct hd_wait_table *t, uint64_t *call_pc, uint64_t *caller_pc);

/* The monitor: true if the worker should judge. `waits`: struct hd_wait_table. */
bool hd_recognition_due(void *waits, uint64_t now_ns);

/* The worker. A sample found the thread blocked, and not in a wait. */
void hd_recognition_blocked(struct hd_wait_table *t, struct hd_blocked *how);

/* The worker: judges the waits since the last time. `tools->ending`: for the last time. */
void hd_recognition_judge(void *waits, const struct hd_stack_tools *tools);

/* The worker: the thread has ended. Withdraws reports that are deferred for a loop which is not valid.
 * Another thread gets the table next, and its loop would show them. */
void hd_recognition_end(struct hd_wait_table *t, const struct hd_stack_tools *tools);

#endif
