/* SPDX-License-Identifier: MIT
 *
 * The main thread may give up a right by a system call that no function of Hangdog sees. The monitor notices
 * this when it compares the main thread's credentials with its own. In that case the monitor and the worker
 * give up the same right. On the monitor thread.
 */
#ifndef HD_MONITOR_CREDENTIALS_H
#define HD_MONITOR_CREDENTIALS_H

#include "monitor/state.h"

/* Compares the main thread's credentials (user and group ids, capabilities, seccomp filters) with the
 * monitor's. If there is a request (watch/follow.h), does so at once. Otherwise does so if the last check is
 * two seconds old. One second is enough if `parks` is true, because the monitor is about to park. The check
 * reads one file of /proc, which takes some 10 us. If the monitor or the worker cannot have as few rights as
 * the main thread, both threads end. */
void hd_monitor_credentials_check(struct hd_monitor *m, bool parks);

/* Returns when a parked monitor must wake to compare credentials again. HD_NEVER: the main thread has not run
 * since they were last compared, and so has not changed its own. */
uint64_t hd_monitor_credentials_next(void);

#endif
