/* SPDX-License-Identifier: MIT
 *
 * Whether this process has a monitor, for who adds and removes watches meanwhile.
 */
#ifndef HD_RUN_H
#define HD_RUN_H

#include "monitor/monitor.h"

/* How long one call may wait in all: for its turn, then for our threads. A worker that has not finished by
 * then is abandoned. */
#define HD_CALL_NS (90 * HD_NS_PER_MS)
#define HD_READY_NS (20 * HD_NS_PER_MS)

/* It runs, and no stop goes on. */
bool hd_run_has(const struct hd_monitor *m);
/* Until the start or stop that goes on is over. */
void hd_run_wait_changed(uint64_t until_ns);
/* As long as the word is this, and not beyond `until_ns`. */
void hd_wait_while(_Atomic uint32_t *word, uint32_t is, uint64_t until_ns);

/* watches.c: before the next run; what threads have left is given back. Nobody is at the watches. */
void hd_watches_clear(struct hd_monitor *m);

#endif
