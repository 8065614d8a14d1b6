/* SPDX-License-Identifier: MIT
 *
 * The turn that a message of the monitor starts. Worker.
 */
#ifndef HD_WORKER_TRACKING_H
#define HD_WORKER_TRACKING_H

#include "turn/turn.h"
#include "watch/run.h"

/* NULL: too many turns are followed. The turn is only counted then. */
struct hd_turn *hd_tracking_start(struct hd_turns *turns, const struct hd_run *run,
                                  const struct hd_probe_context *probe, const struct hd_message *msg);

#endif
