/* SPDX-License-Identifier: MIT
 *
 * The worker's part of a wait table. For each entry the worker fills a struct hd_wait_seen from the entry's
 * sums and a copy of the stack. The code in src/recognise judges these values, and the worker writes the
 * verdicts into the entries. No allocation, no lock.
 */
#ifndef HD_RECOGNITION_H
#define HD_RECOGNITION_H

#include "image/functions.h"
#include "preload/waits/wait_table.h"
#include "recognise/judge.h"
#include "watch/recogniser.h"

/* The worker's knowledge of one entry of the wait table. */
struct hd_known_wait {
    bool known;
    /* The value of the entry's `uses` (wait_table.h) when the thread copied its stack. If the entry has
     * another value now, the entry has a new key. */
    uint32_t uses;
    struct hd_wait_descriptors descriptors;
    struct hd_wait_seen seen;
    /* how many of the entry's waits hd_rule_waited() has taken into account, and their total time */
    uint64_t counted_waits, counted_ticks;
};

struct hd_recognition {
    struct hd_judge judge;
    struct hd_functions known_functions;
    struct hd_known_wait entry[HD_WAIT_ENTRIES];
    /* The worker writes the members of this struct, and the monitor reads them. */
    struct hd_recognition_progress {
        _Atomic uint64_t order; /* the number of the last wait that the rule has counted */
        /* the value of `order` at the last judgement that found the loop in its wait */
        _Atomic uint64_t idle_order;
        _Atomic uint64_t judged_ns; /* the time when the worker last judged the table's waits; 0: never */
        /* True: the last judgement of the waits found signs, but no proof, that the program has left the
         * loop. So the next judgement follows soon. */
        _Atomic bool again_soon;
    } progress;
    /* true: the last judgement of the waits found that the program had left the loop (hd_rule_is_over) */
    bool closed;
    /* The stack pointer of the thread when it was parked, and another thread served the pool's loop. 0: not
     * seen yet. Only for a thread of a known pool. */
    uint64_t parked_sp;
    uint64_t rule_changes; /* the value of judge.rule.changes at the last judgement */
    uint32_t certainty;    /* enum hd_record_certainty */
    uint32_t generation;   /* the generation of the watch at the last judgement */
};

/* Makes the wait table of a thread that is not watched yet. The caller must call hd_recognition_init for
 * t->recognition. Returns NULL if there is no memory. The table is never freed, since the worker may still
 * use it after the thread's end. */
struct hd_wait_table *hd_wait_table_new(void);

/* Empties the table, as if its thread had never waited; t->recognition stays unchanged. Neither the monitor
 * nor the worker may use the table during the call. */
void hd_wait_table_forget(struct hd_wait_table *t);

void hd_recognition_init(struct hd_recognition *g, const struct hd_record *record);

/* Returns the total time of the waits in the table. When a new key replaces an entry's key, the waits with
 * the old key no longer count in this total. */
uint64_t hd_recognition_waited_ns(const struct hd_wait_table *t);

/* Stores call_pc and caller_pc (wait_seen.h) of the loop's wait. While no loop is known, stores those of the
 * entry with the most waits. False: the worker has not read a stack yet. */
bool hd_recognition_candidate(const struct hd_wait_table *t, uint64_t *call_pc, uint64_t *caller_pc);

/* True if the worker should judge the table's waits now. `waits`: the table, a struct hd_wait_table. The
 * monitor thread calls this function. */
bool hd_recognition_due(void *waits, uint64_t now_ns);

/* The worker thread calls this function if a sample shows that the thread is blocked in a call that is not a
 * wait. `how` has the facts of the sample. If how->in_turn is true, the function may store the descriptor of
 * an epoll instance in how->epoll (watch/recogniser.h). */
void hd_recognition_blocked(struct hd_wait_table *t, struct hd_blocked *how);

/* Judges the waits that the thread has made since the last call of this function. `waits`: the thread's
 * table, a struct hd_wait_table. `tools->ending`: true in the last call of a run. The worker thread calls
 * this function. */
void hd_recognition_judge(void *waits, const struct hd_stack_tools *tools);

/* The worker thread calls this function after the last judgement of the table's waits. If hangs of the
 * thread's loop are not valid (hd_rule_is_valid), withdraws the reports that are deferred for this loop. If
 * the reports stayed, the next thread with this table would publish them once that thread's own loop is
 * certain. */
void hd_recognition_end(struct hd_wait_table *t, const struct hd_stack_tools *tools);

#endif
