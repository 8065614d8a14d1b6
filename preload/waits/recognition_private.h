/* SPDX-License-Identifier: MIT
 *
 * The two halves of the recognition: reading what waits are (recognise_waits.c), and judging them
 * (recognise.c).
 */
#ifndef HD_RECOGNISE_PRIVATE_H
#define HD_RECOGNISE_PRIVATE_H

#include "preload/waits/recognition.h"

/* Reads the stack that the thread left last, if the worker has not had it, and tells the rule. */
void hd_recognition_resolve(struct hd_wait_table *t, const struct hd_stack_tools *tools, uint64_t now_ns);

/* A loop whose descriptors are closed, all of them, was made anew, or is over. */
void hd_recognition_note_closed(struct hd_wait_table *t, const struct hd_stack_tools *tools);

/* The thread compares numbers, and numbers are given anew: one connection after the other looks like one to
 * it. Reads again what the numbers mean of identities that have waited since the last time. */
void hd_recognition_read_again(struct hd_wait_table *t, const struct hd_stack_tools *tools);

#endif
