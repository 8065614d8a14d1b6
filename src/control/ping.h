/* SPDX-License-Identifier: MIT
 *
 * The ping scheme: a loop of which only "post to the loop" is known. A thread posts a task each period; from
 * there to the task's run the loop counts as running. The rest is as with marks: a ping without an answer is
 * a turn that grows.
 */
#ifndef HD_PING_H
#define HD_PING_H

#include "watch/run.h"

/* Starts to ping. On the loop's own thread, once for each watch. 0 or a negative errno value. */
int hd_ping_begin(struct hd_run *r, struct hd_watch *w, hangdog_post post, void *context);
/* No post begins afterwards. Waits for one that is under way, but not for long. Does nothing where the loop
 * is not pinged. */
void hd_ping_end(struct hd_watch *w);

#endif
