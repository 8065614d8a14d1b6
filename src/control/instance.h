/* SPDX-License-Identifier: MIT
 *
 * Starting and stopping a run: at any moment, in any order, from any thread; less than 100 ms. One run per
 * process.
 */
#ifndef HD_INSTANCE_H
#define HD_INSTANCE_H

#include "watch/run.h"

/* Starts with ready settings; the record may be NULL (memory of our own is used then). Internal half of
 * hangdog_start, used by the preload too. *out: the run. 0 or a negative errno value. */
int hd_instance_start(const struct hd_settings *settings, const struct hd_ports *ports,
                      struct hd_record *record, struct hd_run **out);
int hd_instance_stop(void);
/* Stops it where malloc's locks may be held: what is left of the threads is never waited for. Does nothing
 * when none runs. `goes_on`: the calling thread ends and others may go on, of which libc must see the last
 * end after ours, which are joined. Only a worker that is stuck at a disk for 5 s is left there. */
void hd_instance_leave(bool goes_on);

#endif
