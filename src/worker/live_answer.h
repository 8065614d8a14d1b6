/* SPDX-License-Identifier: MIT
 *
 * The report of kind `live`: all threads as they are now, for a thread that asked. Worker: no allocation.
 */
#ifndef HD_LIVE_ANSWER_H
#define HD_LIVE_ANSWER_H

#include "worker/worker.h"

/* Answers the request that is there, if one is. For hd_ports.live: the preload, where nobody asks, is built
 * without it. */
void hd_live_answer(struct hd_worker *k);

#endif
