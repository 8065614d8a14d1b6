/* SPDX-License-Identifier: MIT
 *
 * Functions that send a request and wait for its reply on the descriptor that a loop waits on too (X,
 * Wayland): a wait below one of them is never the loop's. The only names in the recognition of loops.
 * Resolved once for each module, by its exported symbols. No allocation, no lock; may run while a hang is on.
 */
#ifndef HD_REQUEST_REPLY_H
#define HD_REQUEST_REPLY_H

#include "image/image.h"

#define HD_REQUEST_REPLY_MAX 64u

struct hd_request_reply {
    uint32_t modules; /* of the table of modules, looked at so far */
    uint32_t count;
    uint64_t start[HD_REQUEST_REPLY_MAX]; /* where such a function begins in memory */
};

/* Zero-initialised is ready. Call again when the modules were reset. */
void hd_request_reply_reset(struct hd_request_reply *t);

/* True when `start`, where a frame's function begins in memory, is one of the functions. All modules that `m`
 * remembers are known after the call: walk first, then ask. */
bool hd_request_reply_asks(struct hd_request_reply *t, struct hd_modules *m, uint64_t start);

#endif
