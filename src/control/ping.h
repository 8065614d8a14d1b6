/* SPDX-License-Identifier: MIT
 *
 * The ping scheme: for a loop that can only be posted to. A thread posts a task each period, and from the
 * post to the task's run the loop counts as running. So a ping without an answer is a turn that grows, as
 * with marks.
 */
#ifndef HD_PING_H
#define HD_PING_H

#include "watch/run.h"

/* Starts to ping the loop. On the loop's own thread, once for each watch. 0 or a negative errno value. */
int hd_ping_start(struct hd_run *r, struct hd_watch *w, hangdog_post post, void *context);
/* Ends it: no post starts from here on. Waits for a post that still runs, at most HD_CALL_NS. Does nothing
 * where the loop is not pinged. */
void hd_ping_stop(struct hd_watch *w);

#endif
