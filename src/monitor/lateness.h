/* SPDX-License-Identifier: MIT
 *
 * Why a look is later than planned. Either the monitor itself waited, for a CPU or for a thread's answer. Or
 * nothing of the process could run: a stop, a frozen cgroup, a breakpoint, a suspend. Monitor.
 */
#ifndef HD_LATENESS_H
#define HD_LATENESS_H

#include "monitor/state.h"

#define HD_LATE_NS (100 * HD_NS_PER_MS) /* the reason of so much lateness is looked for */

/* As the thread starts, before the program may change its root. */
void hd_lateness_open(struct hd_monitor *m);

/* How long the monitor has waited for a CPU since this was called last. */
uint64_t hd_lateness_own_delay(struct hd_monitor *m);

/* At the start of a look: fills m->now. */
void hd_lateness_start_look(struct hd_monitor *m, uint64_t now_ns);

/* At the end of a look, which has found that the next one is due at next_ns. Returns when it is due: at once,
 * where this look took long, since what has happened meanwhile belongs to the next look. */
uint64_t hd_lateness_end_look(struct hd_monitor *m, uint64_t next_ns);

/* The next look's lateness cannot be known: the monitor sleeps without a plan. */
void hd_lateness_is_unknown(struct hd_monitor *m);

/* For how long since the last look nothing of the process could run, as far as one loop's thread shows it.
 * Reads the thread's scheduling statistics into s->thread. */
uint64_t hd_lateness_excluded(struct hd_monitor *m, struct hd_look_state *s);

/* Reads the thread's scheduling statistics into s->thread. */
void hd_lateness_read_thread(struct hd_look_state *s);

#endif
