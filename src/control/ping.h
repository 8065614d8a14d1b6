/* SPDX-License-Identifier: MIT
 *
 * Watches a loop that only takes posted tasks, and that the program cannot mark. Each period, a thread posts
 * a task to the loop, called a ping. From the post until the loop runs the task, the loop counts as running.
 * So a ping without an answer is a turn that grows, as in a loop with marks.
 */
#ifndef HD_PING_H
#define HD_PING_H

#include "watch/run.h"

/* Starts to ping the loop. Call it once for each watch, on the loop's own thread. Returns 0 or a negative
 * errno value. */
int hd_ping_start(struct hd_run *r, struct hd_watch *w, hangdog_post post, void *context);
/* Ends the pings: no post starts from here on. Waits for a post that is still running, at most HD_CALL_NS.
 * Does nothing if the loop is not pinged. */
void hd_ping_stop(struct hd_watch *w);

#endif
