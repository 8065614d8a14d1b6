/* SPDX-License-Identifier: MIT
 *
 * Finds out whether a thread waits for the reply to a request: by XPC, by DNS, or by a Mach message. Runs on
 * the worker thread; allocates nothing.
 */
#ifndef HD_CAUSE_DARWIN_REQUEST_H
#define HD_CAUSE_DARWIN_REQUEST_H

#include "cause/probe_context.h"

/* Fills out->peer if the thread waits for a reply in call `nr`. Each call that waits for a Mach message does,
 * except one that a run loop makes: that one waits for events. */
void hd_request_find(struct hd_probe_context *ctx, int32_t nr, const struct hd_frame *frames, uint32_t count,
                     struct hd_probe *out);

/* True: call `nr` waits for a Mach message. */
bool hd_request_is_message(int32_t nr);

#endif
