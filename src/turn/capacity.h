/* SPDX-License-Identifier: MIT
 *
 * Free nodes for each new stack. Worker.
 */
#ifndef HD_TURN_CAPACITY_H
#define HD_TURN_CAPACITY_H

#include "turn/turn.h"

/* Adds a stack, innermost frame first, to the turn's tree: there is always room for the whole stack. Returns
 * its leaf. */
uint32_t hd_capacity_add_stack(struct hd_turns *t, struct hd_turn *turn, const struct hd_frame *frames,
                               uint32_t count, uint64_t at_ns);

#endif
