/* SPDX-License-Identifier: MIT
 *
 * Decides when a thread gets a proof (perf_proof.h): when its looks have not shown it in its loop's wait for
 * a while. Ordinary code, on the hook's thread.
 */
#ifndef HD_SUSPICION_H
#define HD_SUSPICION_H

#include "outside/linux/poll_thread.h"

void hd_suspicion_prove(struct hd_poll_thread *t, struct hd_poll_look *look);
void hd_suspicion_end(struct hd_poll_thread *t);

#endif
