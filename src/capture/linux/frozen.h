/* SPDX-License-Identifier: MIT
 *
 * Rung 1: a thread that is off its processor is read in place. Monitor: no allocation, no lock.
 */
#ifndef HD_FROZEN_H
#define HD_FROZEN_H

#include "capture/capture.h"

/* Fills out->at_ns and out->sched in any case, the rest when it gives 0. -EAGAIN: the thread runs, or moved
 * meanwhile, or there is nowhere to copy to (`stack` NULL) and the capture before does not hold any more;
 * -ESRCH: it is gone; others: its files cannot be read. */
int hd_frozen_take(struct hd_target *t, uint8_t *stack, struct hd_capture *out);

#endif
