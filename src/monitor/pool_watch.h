/* SPDX-License-Identifier: MIT
 *
 * Decides when the worker looks at the threads of pools. After a loop has run, one look follows. Further
 * looks follow only while all threads of a pool are busy. So an idle program causes no wake-up. On the
 * monitor thread.
 */
#ifndef HD_POOL_WATCH_H
#define HD_POOL_WATCH_H

#include "monitor/state.h"

/* Sends HD_MSG_POOLS to the worker, if a look at the pools is due. Call it after a look. */
void hd_pool_watch_step(struct hd_monitor *m);

/* Returns when hd_pool_watch_step is due next. HD_NEVER: not before a loop runs. */
uint64_t hd_pool_watch_next(const struct hd_monitor *m);

#endif
