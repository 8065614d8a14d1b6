/* SPDX-License-Identifier: MIT
 *
 * The main thread may give up a right by a system call that no function of ours sees. The monitor finds that
 * out, and our threads give it up too. Monitor.
 */
#ifndef HD_MONITOR_CREDENTIALS_H
#define HD_MONITOR_CREDENTIALS_H

#include "monitor/state.h"

/* Answers a request at once. Else compares the credentials each two seconds, or each second where the monitor
 * is about to park. It reads one file of /proc, which takes some 10 us. Our threads end where they cannot
 * have as few rights as the main thread. */
void hd_monitor_credentials_check(struct hd_monitor *m, bool parks);

/* When a parked monitor has to wake for the next check; HD_NEVER: the main thread has not run since the last.
 */
uint64_t hd_monitor_credentials_next(void);

#endif
