/* SPDX-License-Identifier: MIT
 *
 * Abandoned threads: threads of Hangdog that a stop has left alive, because a disk blocks them or because
 * they are about to end. These functions run on the program's threads.
 */
#ifndef HD_ABANDONED_H
#define HD_ABANDONED_H

#include <stdbool.h>

/* The largest number of wait tables that abandoned workers may still use. */
#define HD_ATTACH_TABLES_MAX 16

/* Remembers thread `tid` as abandoned, if it is still alive. `tid` 0: there is no thread. */
void hd_attach_add_abandoned(int tid);

/* True if at least one abandoned thread is still alive. */
bool hd_attach_has_abandoned(void);
/* Waits until all abandoned threads have ended, but at most 5 s. */
void hd_attach_wait_for_abandoned(void);

#endif
