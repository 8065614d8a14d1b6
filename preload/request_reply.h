/* SPDX-License-Identifier: MIT
 *
 * Functions that send a request and wait for its reply on the descriptor that a loop waits on too (X,
 * Wayland): a wait below one of them is never the loop's. The only names in the recognition of loops.
 */
#ifndef HD_REQUEST_REPLY_H
#define HD_REQUEST_REPLY_H

#include "image/functions.h"

/* True when `start`, where a frame's function begins in memory, is one of the functions. `known`: of them
 * alone. */
bool hd_request_reply_asks(struct hd_functions *known, struct hd_modules *m, uint64_t start);

#endif
