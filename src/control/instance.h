/* SPDX-License-Identifier: MIT
 *
 * Starts and stops Hangdog in this process: at any moment, in any order, from any thread, for less than 100
 * ms. The state from a start to the next stop is called a run; a process has at most one.
 */
#ifndef HD_INSTANCE_H
#define HD_INSTANCE_H

#include "watch/run.h"

/* Starts Hangdog, for hangdog_start and for the preload. `record`: NULL if the process has none; the run
 * then has a record of its own. *out: the run. Returns 0 or a negative errno value. */
int hd_instance_start(const struct hd_settings *settings, const struct hd_ports *ports,
                      struct hd_record *record, struct hd_run **out);
int hd_instance_stop(void);
/* Stops Hangdog, if it is running, at the end of the process. If `others_run` is false, it does not join the
 * monitor and the worker, because the calling thread may have malloc's locks. `others_run`: only the main
 * thread ends, and other threads of the program still run. Then the two threads are joined, because libc has
 * to see the program's last thread end after them. A worker that waits for a disk for 5 s is abandoned. */
void hd_instance_leave(bool others_run);

#endif
