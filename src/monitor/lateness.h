/* SPDX-License-Identifier: MIT
 *
 * Finds out why a look is later than planned. One reason is that the monitor itself waited, for a CPU or for
 * a thread's answer to a request for its stack. The other is that no thread of the process could run: a stop,
 * a frozen cgroup, a breakpoint, a suspend. On the monitor thread.
 */
#ifndef HD_LATENESS_H
#define HD_LATENESS_H

#include "monitor/state.h"

#define HD_LATE_NS (100 * HD_NS_PER_MS) /* if a look is later than this, the monitor finds out the reason */

/* Opens the monitor's own scheduling statistics. The monitor calls it as it starts, because the program may
 * change its root folder later. */
void hd_lateness_open(struct hd_monitor *m);

/* Returns how long the monitor has waited for a CPU since the last call. */
uint64_t hd_lateness_own_delay(struct hd_monitor *m);

/* Fills m->now. Call it at the start of a look. `now_ns`: when the look starts. */
void hd_lateness_start_look(struct hd_monitor *m, uint64_t now_ns);

/* Call it at the end of a look. `next_ns`: when the next look is due. Returns `next_ns`. But after a look
 * that took long, returns a time that is over already, so that the next look follows at once. That look
 * sees what has happened meanwhile. */
uint64_t hd_lateness_end_look(struct hd_monitor *m, uint64_t next_ns);

/* Says that the next look's lateness cannot be known, because the monitor sleeps without a time limit. */
void hd_lateness_is_unknown(struct hd_monitor *m);

/* Returns for how long since the last look no thread of the process could run, judged by this loop's
 * thread. Also updates that thread's scheduling statistics in s->thread, if the thread may have run. */
uint64_t hd_lateness_excluded(struct hd_monitor *m, struct hd_look_state *s);

/* Reads the scheduling statistics of the loop's thread into s->thread. */
void hd_lateness_read_thread(struct hd_look_state *s);

#endif
