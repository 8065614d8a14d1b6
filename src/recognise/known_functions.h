/* SPDX-License-Identifier: MIT
 *
 * The two tables of names: functions that run a loop, and functions that send a request and wait for its
 * reply. Such a reply often comes by the descriptor that a loop waits for too (X, Wayland, D-Bus). No
 * allocation, no lock; may run in a hang. `known` caches the addresses of these names.
 */
#ifndef HD_KNOWN_FUNCTIONS_H
#define HD_KNOWN_FUNCTIONS_H

#include "image/functions.h"
#include "recognise/wait_evidence.h"

/* The evidence of a wait's stack, innermost frame first. HD_WAIT_EVIDENCE_REQUEST: a request-reply function
 * is on it. HD_WAIT_EVIDENCE_BY_NAME: from the wait outward all frames are in one library, up to a loop
 * function of that library. The wait is then not inside a callback. Else HD_WAIT_EVIDENCE_PLAIN. */
enum hd_wait_evidence hd_known_function(struct hd_functions *known, struct hd_modules *m,
                                        const struct hd_frame *frames, uint32_t count);

/* True if a function that runs a loop to its end is among these frames. Functions that run one turn do not
 * count: the program works between two of their calls. */
bool hd_known_loop_encloses(struct hd_functions *known, struct hd_modules *m, const struct hd_frame *frames,
                            uint32_t count);

#endif
