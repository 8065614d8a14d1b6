/* SPDX-License-Identifier: MIT
 *
 * Monitor: whether the main thread has given up a right by a call that no function of ours saw.
 */
#ifndef HD_MONITOR_FOLLOW_H
#define HD_MONITOR_FOLLOW_H

#include "monitor/monitor.h"

/* Answers a request at once; compares the rights each two seconds, or each second where the monitor parks.
 * Each time reads one file of /proc, some 10 us. Where our threads cannot come down to what the main thread
 * has, they end. */
void hd_monitor_follow(struct hd_monitor *m, bool parks);

/* When a parked monitor has to do so once more; UINT64_MAX: the main thread has not run since. */
uint64_t hd_monitor_follow_next(void);

#endif
