/* SPDX-License-Identifier: MIT
 *
 * The main thread may give up a right by a system call that no function of Hangdog sees. The monitor finds
 * that out. Then the monitor and the worker give up the right too. On the monitor thread.
 */
#ifndef HD_MONITOR_CREDENTIALS_H
#define HD_MONITOR_CREDENTIALS_H

#include "monitor/state.h"

/* Answers a request (watch/follow.h) at once. Without a request, compares the credentials of main thread and
 * monitor every two seconds, or every second if the monitor is about to park. A check reads one file of
 * /proc, which takes some 10 us. If the monitor or the worker cannot have as few rights as the main thread,
 * both end. */
void hd_monitor_credentials_check(struct hd_monitor *m, bool parks);

/* When a parked monitor has to wake for the next check. HD_NEVER: the main thread has not run since the last
 * check. */
uint64_t hd_monitor_credentials_next(void);

#endif
