/* SPDX-License-Identifier: MIT
 *
 * Abandoned threads: threads of Hangdog that the stop of a watch has left alive. A disk blocks them, or they
 * are about to end. These functions run on the program's threads.
 */
#ifndef HD_ABANDONED_H
#define HD_ABANDONED_H

#include <stdbool.h>

/* The largest number of wait tables that abandoned workers may still use. Once so many are in use, no
 * watch starts any more. */
#define HD_ATTACH_TABLES_MAX 16

/* Remembers thread `tid` as abandoned, if it is still alive. `tid` 0: there is no thread. */
void hd_attach_add_abandoned(int tid);

/* True if at least one abandoned thread is still alive. */
bool hd_attach_has_abandoned(void);
/* Blocks the caller until all abandoned threads have ended, but for at most 5 s. */
void hd_attach_wait_for_abandoned(void);

#endif
