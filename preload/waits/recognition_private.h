/* SPDX-License-Identifier: MIT
 *
 * recognition_read.c fills values from the wait table. recognition.c passes the values to the judge, and
 * writes the verdicts into the table. Both run on the worker thread.
 */
#ifndef HD_RECOGNITION_PRIVATE_H
#define HD_RECOGNITION_PRIVATE_H

#include "preload/waits/recognition.h"

/* If a copy of the stack is unread, reads the newest one and passes its wait to the judge. */
void hd_recognition_resolve(struct hd_wait_table *t, const struct hd_stack_tools *tools, uint64_t now_ns);

/* If all files of the loop are closed, passes this fact to the rule. The program has then made a new loop, or
 * has left its loop. */
void hd_recognition_note_closed(struct hd_wait_table *t, const struct hd_stack_tools *tools);

/* Reads again which files the descriptors of an entry mean, if the thread has waited with this key since. A
 * descriptor number may mean another file by now: connections that follow one another have the same number,
 * and so the same key. */
void hd_recognition_read_again(struct hd_wait_table *t, const struct hd_stack_tools *tools);

/* True if the entry still has the key that the worker knows. */
static inline bool hd_recognition_is_current(const struct hd_known_wait *known,
                                             const struct hd_wait_entry *entry) {
    return known->known && atomic_load_explicit(&entry->uses, memory_order_seq_cst) == known->uses;
}

#endif
