/* SPDX-License-Identifier: MIT
 *
 * Opens and closes watches: the files of the watched thread, and the monitor's memory for its loop. On the
 * monitor thread.
 */
#ifndef HD_MONITOR_WATCHES_H
#define HD_MONITOR_WATCHES_H

#include "monitor/state.h"

/* Opens a new watch, and the files of the watch's thread. Takes a dry sample, which makes the memory present
 * that later samples need. */
void hd_watches_open(struct hd_monitor *m, struct hd_watch *w);

/* Closes a watch, because its thread removes the watch or Hangdog stops. Ends the loop's turn, adds the
 * watch's sums to the sums of ended watches, and frees the slot. */
void hd_watches_close(struct hd_monitor *m, struct hd_watch *w);

/* Closes the watches that are LEAVING, because the thread of each is blocked until its watch is closed. */
void hd_watches_close_leaving(struct hd_monitor *m);

/* Closes all watches, because Hangdog stops. */
void hd_watches_close_all(struct hd_monitor *m);

/* Once the loop is certain, sends the worker HD_MSG_CERTAIN, one time. */
void hd_watches_send_certain(struct hd_monitor *m, struct hd_look_state *s);

#endif
