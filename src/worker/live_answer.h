/* SPDX-License-Identifier: MIT
 *
 * A job of the worker: the report of kind `live` shows all threads as they are now. Worker.
 */
#ifndef HD_LIVE_ANSWER_H
#define HD_LIVE_ANSWER_H

#include "worker/state.h"

/* Answers the request of a thread, if there is one. For ports.live: the preload has no requests, and is built
 * without this file. */
void hd_live_answer(struct hd_worker *worker);

#endif
