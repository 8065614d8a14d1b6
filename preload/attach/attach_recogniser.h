/* SPDX-License-Identifier: MIT
 *
 * The recogniser (watch/recogniser.h) of a watched process, for the main thread and the threads that the user
 * named (--thread). The function `due` runs on the monitor thread, the others on the worker thread.
 */
#ifndef HD_ATTACH_RECOGNISER_H
#define HD_ATTACH_RECOGNISER_H

#include "preload/waits/wait_table.h"
#include "record/record.h"
#include "watch/recogniser.h"

/* Starts the recognition of the main thread, whose wait table is `t`, and returns the recogniser. The
 * recogniser stores the certainty of the best known loop in `r`. */
struct hd_recogniser hd_attach_recogniser(struct hd_wait_table *t, struct hd_record *r);

#endif
