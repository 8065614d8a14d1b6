/* SPDX-License-Identifier: MIT
 *
 * What the monitor and the worker of a watched process call as its recogniser: that of the main thread, and
 * that of the threads which the user names.
 */
#ifndef HD_ATTACH_RECOGNISER_H
#define HD_ATTACH_RECOGNISER_H

#include "preload/waits/wait_table.h"
#include "record/record.h"
#include "watch/recogniser.h"

/* Starts the recognition of the main thread, whose waits are `t`. It writes how well a loop is known to the
 * record. */
struct hd_recogniser hd_attach_recogniser(struct hd_wait_table *t, struct hd_record *r);

#endif
