/* SPDX-License-Identifier: MIT
 *
 * recognition_read.c fills values from the table. recognition.c has them judged, and writes the verdicts. The
 * worker runs both.
 */
#ifndef HD_RECOGNITION_PRIVATE_H
#define HD_RECOGNITION_PRIVATE_H

#include "preload/waits/recognition.h"

/* Reads the newest copy of the stack, if the worker has not read it, and passes the wait to the judge. */
void hd_recognition_resolve(struct hd_wait_table *t, const struct hd_stack_tools *tools, uint64_t now_ns);

/* Checks whether all files of the loop are closed, and passes that to the rule. The program has then made a
 * new loop, or has left its loop. */
void hd_recognition_note_closed(struct hd_wait_table *t, const struct hd_stack_tools *tools);

/* Reads the descriptors of entries that have waited again. Their numbers may be other files' by now: to the
 * thread one connection after the other is the same key. */
void hd_recognition_read_again(struct hd_wait_table *t, const struct hd_stack_tools *tools);

/* True if the entry still has the key that the worker knows. */
static inline bool hd_recognition_is_current(const struct hd_known_wait *known,
                                             const struct hd_wait_entry *entry) {
    return known->known && atomic_load_explicit(&entry->uses, memory_order_seq_cst) == known->uses;
}

#endif
