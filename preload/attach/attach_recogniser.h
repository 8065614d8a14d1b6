/* SPDX-License-Identifier: MIT
 * The recogniser that the monitor and the worker of a watched process call: for the main thread, and for the
 * threads that the user named. `due` runs on the monitor, all else on the worker.
 */
#ifndef HD_ATTACH_RECOGNISER_H
#define HD_ATTACH_RECOGNISER_H

#include "preload/waits/wait_table.h"
#include "record/record.h"
#include "watch/recogniser.h"

/* Starts the recognition of the main thread, with waits `t`. The recogniser stores the certainty of the loop
 * in `r`. */
struct hd_recogniser hd_attach_recogniser(struct hd_wait_table *t, struct hd_record *r);

#endif
