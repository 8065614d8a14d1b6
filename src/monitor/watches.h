/* SPDX-License-Identifier: MIT
 *
 * Opens and closes watches: the files of the thread, and the monitor's memory of the loop. Monitor.
 */
#ifndef HD_MONITOR_WATCHES_H
#define HD_MONITOR_WATCHES_H

#include "monitor/state.h"

/* Opens a new watch: its thread's files. Takes a first sample, which is dropped: later samples then find
 * their memory present. */
void hd_watches_open(struct hd_monitor *m, struct hd_watch *w);

/* Closes a watch, when its thread leaves or the run ends. Ends the turn, adds the watch's sums to those of
 * the run, and gives the slot back. */
void hd_watches_close(struct hd_monitor *m, struct hd_watch *w);

/* Closes the watches that are LEAVING. Their threads wait for that. */
void hd_watches_close_leaving(struct hd_monitor *m);

/* At the end of a run: closes all. */
void hd_watches_close_all(struct hd_monitor *m);

/* Sends once that this is certainly the program's loop. */
void hd_watches_send_certain(struct hd_monitor *m, struct hd_look_state *s);

#endif
