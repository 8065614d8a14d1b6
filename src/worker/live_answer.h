/* SPDX-License-Identifier: MIT
 *
 * A job of the worker: the report of kind `live` shows all threads as they are now. On the worker thread.
 */
#ifndef HD_LIVE_ANSWER_H
#define HD_LIVE_ANSWER_H

#include "worker/state.h"

/* Answers the request of a thread, if there is one. The library sets this function as ports.live. The preload
 * gets no requests, and is linked without it. */
void hd_live_answer(struct hd_worker *worker);

#endif
