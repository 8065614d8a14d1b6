/* SPDX-License-Identifier: MIT
 *
 * The recogniser (watch/recogniser.h) of a watched process, for the main thread and the threads that the user
 * named (--thread). Its function `due` runs on the monitor thread, its other functions on the worker thread.
 */
#ifndef HD_ATTACH_RECOGNISER_H
#define HD_ATTACH_RECOGNISER_H

#include "preload/waits/wait_table.h"
#include "record/record.h"
#include "watch/recogniser.h"

/* Starts the recognition of the main thread's loop, and returns the recogniser. `t`: the main thread's
 * wait table. The recogniser stores the certainty of the best known loop in `r`. */
struct hd_recogniser hd_attach_recogniser(struct hd_wait_table *t, struct hd_record *r);

#endif
