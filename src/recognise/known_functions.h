/* SPDX-License-Identifier: MIT
 *
 * Tables of function names: functions that run a loop, and functions that send a request and wait for its
 * reply. A reply often comes by a descriptor that the loop waits for too (X, Wayland, D-Bus). In these cases
 * only the names on the stack distinguish the two waits. No allocation, no lock; may run in a hang. The
 * parameter `known` caches the addresses of the functions.
 */
#ifndef HD_KNOWN_FUNCTIONS_H
#define HD_KNOWN_FUNCTIONS_H

#include "image/functions.h"
#include "recognise/wait_evidence.h"

/* Returns the evidence that the stack of a wait gives. `frames` starts with the innermost frame.
 * HD_WAIT_EVIDENCE_REQUEST: a function on the stack has sent a request and waits for its reply.
 * HD_WAIT_EVIDENCE_BY_NAME: a loop function is on the stack, and all frames from the wait out to this
 * function are in its library. So no callback of the program makes the wait. HD_WAIT_EVIDENCE_PLAIN: neither
 * is true. */
enum hd_wait_evidence hd_known_function(struct hd_functions *known, struct hd_modules *m,
                                        const struct hd_frame *frames, uint32_t count);

/* True if these frames include a function that runs a loop until the loop ends. A function that runs one turn
 * does not count, since the program can be in its loop without this function on the stack. */
bool hd_known_loop_encloses(struct hd_functions *known, struct hd_modules *m, const struct hd_frame *frames,
                            uint32_t count);

#endif
