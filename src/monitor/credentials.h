/* SPDX-License-Identifier: MIT
 *
 * The main thread may give up a right by a system call that no function of Hangdog sees. The monitor
 * notices this when it compares credentials. The monitor and the worker give up the same right in that
 * case. On the monitor thread.
 */
#ifndef HD_MONITOR_CREDENTIALS_H
#define HD_MONITOR_CREDENTIALS_H

#include "monitor/state.h"

/* Answers a request to compare credentials (watch/follow.h) at once. Without a request, compares the
 * credentials of the main thread and of the monitor if the last check is two seconds old. One second is
 * enough if `parks` is true, because the monitor is about to park. The check reads one file of /proc,
 * which takes some 10 us. If the monitor or the worker cannot have as few rights as the main thread, both
 * threads end. */
void hd_monitor_credentials_check(struct hd_monitor *m, bool parks);

/* Returns when a parked monitor must wake for the next check. HD_NEVER: the main thread has not run since
 * the last check. */
uint64_t hd_monitor_credentials_next(void);

#endif
