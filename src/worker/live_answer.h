/* SPDX-License-Identifier: MIT
 *
 * Writes a report of kind `live`, which shows all threads as they are now. On the worker thread.
 */
#ifndef HD_LIVE_ANSWER_H
#define HD_LIVE_ANSWER_H

#include "worker/state.h"

/* If a thread of the program requested a live report, writes the report into that thread's buffer. The
 * library sets ports.live to this function. The preload is linked without this function, because no thread
 * can request a live report there. */
void hd_live_answer(struct hd_worker *worker);

#endif
