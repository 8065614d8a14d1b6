/* SPDX-License-Identifier: MIT
 *
 * Makes a turn of the monitor's message that one is to be sampled. On the worker thread.
 */
#ifndef HD_WORKER_TRACKING_H
#define HD_WORKER_TRACKING_H

#include "turn/turn.h"
#include "watch/run.h"

/* Starts to add up the turn. NULL: the worker follows too many turns already. */
struct hd_turn *hd_tracking_start(struct hd_turns *turns, const struct hd_run *run,
                                  const struct hd_probe_context *probe, const struct hd_message *msg);

#endif
