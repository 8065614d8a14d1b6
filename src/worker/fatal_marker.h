/* SPDX-License-Identifier: MIT
 *
 * A file next to the report of a hang that lasts: who can lock it knows that the process died in it. Worker.
 */
#ifndef HD_FATAL_MARKER_H
#define HD_FATAL_MARKER_H

#include "worker/worker.h"

/* The report of a hang that lasts was written, or the hang is over. For hd_ports.fatal_marker. */
void hd_fatal_marker_update(struct hd_worker *k, struct hd_turn *h, bool over);

#endif
