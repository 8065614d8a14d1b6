/* SPDX-License-Identifier: MIT
 *
 * Starts and stops a run: at any moment, in any order, from any thread, for less than 100 ms. A process has
 * one run.
 */
#ifndef HD_INSTANCE_H
#define HD_INSTANCE_H

#include "watch/run.h"

/* Starts a run, for hangdog_start and for the preload. `record`: NULL where the process has none; the run
 * then has its own. *out: the run. 0 or a negative errno value. */
int hd_instance_start(const struct hd_settings *settings, const struct hd_ports *ports,
                      struct hd_record *record, struct hd_run **out);
int hd_instance_stop(void);
/* Stops the run, if there is one, where the calling thread may have malloc's locks: so our threads are not
 * joined. `others_run`: the main thread ends, and other threads of the program still run. Our threads are
 * joined then, since libc has to see the program's last thread end after ours. A worker that waits for a disk
 * for 5 s is left there.
 */
void hd_instance_leave(bool others_run);

#endif
