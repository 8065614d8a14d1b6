/* SPDX-License-Identifier: MIT
 *
 * The two tables of the recognition of loops: functions that run a loop, and functions that send a request
 * and wait for its reply, often on the descriptor that a loop waits on too (X, Wayland, D-Bus). No other code
 * of it knows a name.
 */
#ifndef HD_KNOWN_FUNCTIONS_H
#define HD_KNOWN_FUNCTIONS_H

#include "image/functions.h"
#include "recognise/rule.h"

/* What the stack of a wait says, innermost frame first: HD_EVIDENCE_ASKS: a request-reply function is on it;
 * HD_EVIDENCE_BY_NAME: from the wait outward all frames lie in one library, up to a loop function of it, so
 * no callback is in between; else HD_EVIDENCE_PLAIN. `known`: of these tables alone. Worker: no allocation,
 * no lock; may run while a hang is on. */
enum hd_wait_evidence hd_known_function(struct hd_functions *known, struct hd_modules *m,
                                        const struct hd_frame *frames, uint32_t count);

/* A function that runs a loop to its end calls these frames: the wait, or the callback that waits, is within
 * it. Functions that run one turn are none of these, since the program works between two calls. */
bool hd_known_loop_encloses(struct hd_functions *known, struct hd_modules *m, const struct hd_frame *frames,
                            uint32_t count);

#endif
