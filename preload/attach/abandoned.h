/* SPDX-License-Identifier: MIT
 * Threads of ours that were still alive after a stop: blocked at a disk, or about to end. On the program's
 * threads.
 */
#ifndef HD_ABANDONED_H
#define HD_ABANDONED_H

#include <stdbool.h>

#define HD_ATTACH_TABLES_MAX 16 /* wait tables that abandoned workers may still use */

/* Remembers thread `tid` if it is still alive. 0: no thread. */
void hd_attach_add_abandoned(int tid);

/* True: at least one of them is still alive. */
bool hd_attach_has_abandoned(void);
/* Waits until all have ended, at most 5 s. */
void hd_attach_wait_for_abandoned(void);

#endif
