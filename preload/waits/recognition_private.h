/* SPDX-License-Identifier: MIT
 *
 * The code in recognition_read.c reads the stacks and descriptors of the wait table's waits. The code in
 * recognition.c passes these facts to src/recognise, and writes the verdicts into the table. Both run on the
 * worker thread.
 */
#ifndef HD_RECOGNITION_PRIVATE_H
#define HD_RECOGNITION_PRIVATE_H

#include "preload/waits/recognition.h"

/* Reads the newest copy of the thread's stack, unless the worker has read it already. Passes the wait in
 * which the thread made this copy to src/recognise/judge.h. */
void hd_recognition_resolve(struct hd_wait_table *t, const struct hd_stack_tools *tools, uint64_t now_ns);

/* If all files of the loop are closed, passes this fact to the rule. Closed files mean that the program has
 * made a new loop, or has left its loop. */
void hd_recognition_note_closed(struct hd_wait_table *t, const struct hd_stack_tools *tools);

/* Reads again which files an entry's descriptor numbers mean, if the thread has waited with the entry's key
 * since the last judgement. A number may mean another file by now: two connections, one after the other, can
 * have the same number, and so the same key. */
void hd_recognition_read_again(struct hd_wait_table *t, const struct hd_stack_tools *tools);

/* True if the entry still has the key for which the worker read a copy of the stack. */
static inline bool hd_recognition_is_current(const struct hd_known_wait *known,
                                             const struct hd_wait_entry *entry) {
    return known->known && atomic_load_explicit(&entry->uses, memory_order_seq_cst) == known->uses;
}

#endif
