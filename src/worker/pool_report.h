/* SPDX-License-Identifier: MIT
 *
 * The report of a pool's stall. It is a turn outside of the table of turns: src/publish writes it as it
 * writes hangs, with the same caps and repeats. The worker has one such report at a time. On the worker
 * thread.
 */
#ifndef HD_POOL_REPORT_H
#define HD_POOL_REPORT_H

#include "worker/state.h"

/* Opens the report of the stall of the pool with this index, which started at `start_ns`. `queued`: as in
 * struct hd_pool_seen. */
void hd_pool_report_open(struct hd_worker *worker, uint8_t pool, const struct hd_message *msg,
                         uint64_t start_ns, int32_t queued);
/* Writes the report again once the stall has grown by a ninth: a killed program leaves nine tenths of it. */
void hd_pool_report_update(struct hd_worker *worker, uint64_t now_ns);
void hd_pool_report_end(struct hd_worker *worker, uint64_t end_ns);

#endif
