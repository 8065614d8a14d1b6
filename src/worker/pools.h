/* SPDX-License-Identifier: MIT
 *
 * Finds pools of threads, and their stalls. In a stall all threads of a pool are busy, and no thread takes
 * new work, for longer than the threshold. docs/architecture.md has the rule. On the
 * worker thread.
 */
#ifndef HD_WORKER_POOLS_H
#define HD_WORKER_POOLS_H

#include "watch/message.h"

struct hd_worker; /* worker/state.h */

/* Handles HD_MSG_POOLS: looks at all pools, and writes the report of a stall that starts, lasts or ends. */
void hd_pools_look(struct hd_worker *worker, const struct hd_message *msg);
/* Completes the report of an open stall. Call it at the end of the run. */
void hd_pools_end(struct hd_worker *worker);

#endif
